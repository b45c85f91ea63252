"""Tags of a Protobuf schema: in the options `(confluent.message_meta)` and `(confluent.field_meta)`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, UninterpretedOption

from penstock.schemas.protobuf.schema import ProtobufSchema
from penstock.schemas.protobuf.writing import write_proto
from penstock.schemas.schema import ParsedSchema
from penstock.schemas.tags import FIELD, RECORD, Entity, Tags, changed, check_known

META: Final = {RECORD: "confluent.message_meta", FIELD: "confluent.field_meta"}
META_FILE: Final = "confluent/meta.proto"
_TEXT: Final = r'"(?:[^"\\]|\\.)*"'
_TAGS: Final = re.compile(rf"\btags\s*:\s*(\[(?:[^\"\]]|{_TEXT})*\]|{_TEXT})\s*[,;]?")
"""`tags` in the braces of an option, one word or a list of them."""


def find_tags(schema: ParsedSchema) -> dict[Entity, list[str]]:
    assert isinstance(schema, ProtobufSchema)
    found = ((entity, _tags(options, entity.kind)) for entity, options in _entities(schema.written))
    return {entity: words for entity, words in found if words}


def with_tags(schema: ParsedSchema, added: Tags, removed: Tags) -> str:
    assert isinstance(schema, ProtobufSchema)
    file = FileDescriptorProto()
    file.CopyFrom(schema.written)
    there = dict(_entities(file))
    named = {entity: _dotted(entity) for entity in (*added, *removed)}
    check_known(named.values(), there)
    for entity in dict.fromkeys(named):
        options, kind = there[named[entity]], entity.kind
        words = changed(_tags(options, kind), added.get(entity, ()), removed.get(entity, ()))
        _set_tags(options, kind, words)
    if any(added.values()) and META_FILE not in file.dependency:
        file.dependency.append(META_FILE)
    return write_proto(file)


def _dotted(entity: Entity) -> Entity:
    return Entity(f".{entity.path.lstrip('.')}", entity.kind)


def _entities(file: FileDescriptorProto) -> Iterator[tuple[Entity, Any]]:
    prefix = f".{file.package}." if file.package else "."
    for message in file.message_type:
        yield from _within(message, prefix)


def _within(message: DescriptorProto, prefix: str) -> Iterator[tuple[Entity, Any]]:
    full = prefix + message.name
    yield Entity(full, RECORD), message.options
    for field in message.field:
        yield Entity(f"{full}.{field.name}", FIELD), field.options
    for inner in message.nested_type:
        if not inner.options.map_entry:
            yield from _within(inner, f"{full}.")


def _is_meta(option: UninterpretedOption, kind: str) -> bool:
    first = option.name[0]
    return bool(first.is_extension and first.name_part.lstrip(".") == META[kind])


def _is_tags(option: UninterpretedOption) -> bool:
    """Whether the option is written `(confluent.field_meta).tags = "…"`."""
    return [part.name_part.lstrip(".") for part in option.name[1:]] == ["tags"]


def _tags(options: Any, kind: str) -> list[str]:
    found: list[str] = []
    for option in options.uninterpreted_option:
        if _is_meta(option, kind):
            if _is_tags(option):
                found.append(option.string_value.decode("utf-8", "replace"))
            for match in _TAGS.finditer(option.aggregate_value):
                found += [json.loads(word) for word in re.findall(_TEXT, match.group(1))]
    return list(dict.fromkeys(found))


def _set_tags(options: Any, kind: str, words: list[str]) -> None:
    """All tags stand in one option in braces, behind what else it says. Other options stay as they are."""
    others, rest = [], ""
    for option in options.uninterpreted_option:
        if not _is_meta(option, kind):
            others.append(option)
        elif len(option.name) == 1:
            rest = _TAGS.sub("", option.aggregate_value).strip().rstrip(",;").strip()
        elif not _is_tags(option):
            others.append(option)
    kept = [UninterpretedOption.FromString(each.SerializeToString()) for each in others]
    del options.uninterpreted_option[:]
    options.uninterpreted_option.extend(kept)
    parts = [rest] if rest else []
    if words:
        told = " , ".join(json.dumps(word, ensure_ascii=False) for word in words)
        parts.append(f"tags : [ {told} ]" if len(words) > 1 else f"tags : {told}")
    if parts:
        option = options.uninterpreted_option.add(aggregate_value=" , ".join(parts))
        option.name.add(name_part=META[kind], is_extension=True)
