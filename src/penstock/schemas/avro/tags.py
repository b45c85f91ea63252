"""Tags of an Avro schema: the property `confluent:tags` of records and fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.schemas.avro import writing
from penstock.schemas.avro.schema import AvroSchema
from penstock.schemas.json_text import write_json
from penstock.schemas.tags import FIELD, RECORD, Entity, Tags, changed, check_known, set_tags, tags_of


def entities(schema: AvroSchema) -> Iterator[tuple[Entity, dict[str, Any]]]:
    """The records and fields that the schema itself defines, with the JSON of each."""
    return _walk(writing.canonical(schema.root, set(schema.referenced)), "")


def with_tags(schema: AvroSchema, added: Tags, removed: Tags) -> str:
    root = writing.canonical(schema.root, set(schema.referenced))
    nodes = dict(_walk(root, ""))
    check_known((*added, *removed), nodes)
    for entity in dict.fromkeys((*added, *removed)):
        node = nodes[entity]
        set_tags(node, changed(tags_of(node), added.get(entity, ()), removed.get(entity, ())))
    return write_json(root)


def _walk(node: Any, namespace: str) -> Iterator[tuple[Entity, dict[str, Any]]]:
    if isinstance(node, list):
        for branch in node:
            yield from _walk(branch, namespace)
    if not isinstance(node, dict):
        return
    if node["type"] in ("array", "map"):
        yield from _walk(node.get("items", node.get("values")), namespace)
    elif node["type"] in ("record", "error"):
        inner = node.get("namespace", namespace)
        full = f"{inner}.{node['name']}" if inner else node["name"]
        yield Entity(full, RECORD), node
        for field in node["fields"]:
            yield Entity(f"{full}.{field['name']}", FIELD), field
            yield from _walk(field["type"], inner)
