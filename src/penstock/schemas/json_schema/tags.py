"""Tags of a JSON schema: the property `confluent:tags` of objects and of their properties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.schemas.json_schema.schema import JsonSchema
from penstock.schemas.json_text import parse_json, write_json
from penstock.schemas.tags import FIELD, RECORD, Entity, Tags, changed, check_known, set_tags, tags_of

_DEFINITIONS = ("$defs", "definitions")
_BRANCHES = ("allOf", "anyOf", "oneOf")


def entities(root: Any) -> Iterator[tuple[Entity, Entity, dict[str, Any]]]:
    """Objects and properties: the whole path, the path of names alone, and the JSON of each."""
    return _walk(root, "", "")


def with_tags(schema: JsonSchema, added: Tags, removed: Tags) -> str:
    root = parse_json(schema.canonical)
    nodes: dict[Entity, dict[str, Any]] = {}
    for whole, short, node in entities(root):
        nodes.setdefault(short, node)
        nodes[whole] = node
    check_known((*added, *removed), nodes)
    for entity in dict.fromkeys((*added, *removed)):
        node = nodes[entity]
        set_tags(node, changed(tags_of(node), added.get(entity, ()), removed.get(entity, ())))
    return write_json(root)


def _walk(node: Any, whole: str, short: str) -> Iterator[tuple[Entity, Entity, dict[str, Any]]]:
    if not isinstance(node, dict):
        return
    if isinstance(properties := node.get("properties"), dict):
        here = _joined(whole, "object")
        yield Entity(here, RECORD), Entity(short, RECORD), node
        for name, inner in properties.items():
            if isinstance(inner, dict):
                paths = _joined(here, name), _joined(short, name)
                yield Entity(paths[0], FIELD), Entity(paths[1], FIELD), inner
                yield from _walk(inner, *paths)
    if isinstance(items := node.get("items"), dict):
        yield from _walk(items, _joined(whole, "array"), short)
    for key in _BRANCHES:
        for number, branch in enumerate(node[key] if isinstance(node.get(key), list) else ()):
            yield from _walk(branch, _joined(whole, f"{key}.{number}"), short)
    for key in _DEFINITIONS:
        for name, inner in (node[key] if isinstance(node.get(key), dict) else {}).items():
            yield from _walk(inner, _joined(whole, f"{key}.{name}"), _joined(short, f"{key}.{name}"))


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
