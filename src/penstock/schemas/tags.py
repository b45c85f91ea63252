"""Tags inside a schema: words such as PII on a record or a field, which rules and readers go by.

    Avro, JSON    the property `confluent:tags` of the record, object or field
    Protobuf      the options `(confluent.message_meta)` and `(confluent.field_meta)`

An entity is named by its path: `namespace.Record.field` in Avro, `.package.Message.field` in Protobuf, and
`object.field.object.inner` in JSON Schema, where `field.inner` is understood as well. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from penstock.schemas.errors import InvalidSchema
from penstock.schemas.schema import ParsedSchema

PROPERTY: Final = "confluent:tags"
RECORD: Final = "sr_record"
FIELD: Final = "sr_field"


class Entity(NamedTuple):
    path: str
    kind: str


Tags = Mapping[Entity, Sequence[str]]


def find_tags(schema: ParsedSchema) -> dict[Entity, list[str]]:
    """Every tag of a schema, by the entity that has it."""
    from penstock.schemas.avro.schema import AvroSchema
    from penstock.schemas.json_schema.schema import JsonSchema

    if isinstance(schema, AvroSchema):
        from penstock.schemas.avro.tags import entities

        return {entity: words for entity, node in entities(schema) if (words := tags_of(node))}
    if isinstance(schema, JsonSchema):
        from penstock.schemas.json_schema import tags as of_json

        found = of_json.entities(schema.document.root)
        return {entity: words for entity, _, node in found if (words := tags_of(node))}
    from penstock.schemas.protobuf import tags as of_protobuf

    return of_protobuf.find_tags(schema)


def with_tags(schema: ParsedSchema, added: Tags, removed: Tags) -> str:
    """The schema's text with tags added and taken away. InvalidSchema for an entity that it does not have."""
    from penstock.schemas.avro.schema import AvroSchema
    from penstock.schemas.json_schema.schema import JsonSchema

    if isinstance(schema, AvroSchema):
        from penstock.schemas.avro import tags as of_avro

        return of_avro.with_tags(schema, added, removed)
    if isinstance(schema, JsonSchema):
        from penstock.schemas.json_schema import tags as of_json

        return of_json.with_tags(schema, added, removed)
    from penstock.schemas.protobuf import tags as of_protobuf

    return of_protobuf.with_tags(schema, added, removed)


def tags_of(node: Mapping[str, object]) -> list[str]:
    """The tags of a JSON object. What is no list of texts says nothing."""
    words = node.get(PROPERTY)
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else []


def set_tags(node: dict[str, object], words: Sequence[str]) -> None:
    if words:
        node[PROPERTY] = list(words)
    else:
        node.pop(PROPERTY, None)


def changed(words: Iterable[str], added: Sequence[str], removed: Sequence[str]) -> list[str]:
    """Each tag once, in the order in which it came."""
    return [word for word in dict.fromkeys((*words, *added)) if word not in removed]


def check_known(wanted: Iterable[Entity], known: Iterable[Entity]) -> None:
    there = set(known)
    missing = next((entity for entity in wanted if entity not in there), None)
    if missing is not None:
        raise InvalidSchema(f"The schema has no {missing.kind} at the path {missing.path[:200]!r}.")
