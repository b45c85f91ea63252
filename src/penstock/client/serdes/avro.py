"""Avro: `KafkaAvroSerializer(schema)` writes dicts and dataclasses, `KafkaAvroDeserializer()` reads them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

from penstock.client.schema_registry import Schema, SchemaRegistry
from penstock.client.serdes.reading import SchemaDeserializer
from penstock.client.serdes.registering import SchemaSerializer, as_dict, parsed
from penstock.client.serdes.rules.fields import Walk, avro_walk
from penstock.schemas.schema import AVRO

Text = str | Mapping[str, Any] | None


class KafkaAvroSerializer(SchemaSerializer[Any]):
    """`schema` is Avro's JSON, as text or as a dict; without one the subject's latest version is used.
    `to_dict` makes of a value what Avro writes; a dataclass needs none. Logical types are Python's own."""

    schema_type = AVRO

    def __init__(
        self,
        schema: Text = None,
        *,
        to_dict: Callable[[Any], Any] | None = None,
        registry: SchemaRegistry | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        self._own = schema_of(schema)
        self._to_dict = to_dict
        super().__init__(registry, settings)

    def _schema_of(self, data: Any) -> Schema | None:
        return self._own

    def _record_name(self, schema: Schema) -> str | None:
        return full_name(json.loads(schema.text))

    def _form(self, schema: Schema) -> Any:
        return prepared(schema)

    def _walk(self, schema: Schema) -> Walk:
        return walk_of(schema)

    def _value(self, form: Any, data: Any) -> Any:
        return as_dict(data, self._to_dict)

    def _encode(self, form: Any, value: Any) -> bytes:
        import fastavro

        out = io.BytesIO()
        fastavro.schemaless_writer(out, form, value)
        return out.getvalue()


class KafkaAvroDeserializer(SchemaDeserializer[tuple[Any, Any]]):
    """Records are dicts, or what `from_dict` makes of them: a dataclass `Order` is read by
    `from_dict=lambda each: Order(**each)`. With `schema` values are read as that schema sees them."""

    schema_type = AVRO

    def __init__(
        self,
        schema: Text = None,
        *,
        from_dict: Callable[[Any], Any] | None = None,
        registry: SchemaRegistry | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        own = schema_of(schema)
        self._reader = None if own is None else prepared(own)
        self._from_dict = from_dict
        super().__init__(registry, settings)

    def _form(self, schema: Schema, reader: Schema | None) -> tuple[Any, Any]:
        return prepared(schema), self._reader if reader is None else prepared(reader)

    def _record_name(self, schema: Schema) -> str | None:
        return full_name(json.loads(schema.text))

    def _walk(self, schema: Schema) -> Walk:
        return walk_of(schema)

    def _decode(self, form: tuple[Any, Any], payload: bytes) -> Any:
        import fastavro

        return fastavro.schemaless_reader(io.BytesIO(payload), form[0], form[1])

    def _result(self, form: tuple[Any, Any], value: Any) -> Any:
        return value if self._from_dict is None else self._from_dict(value)


def schema_of(given: Text) -> Schema | None:
    if given is None:
        return None
    return Schema(AVRO, given if isinstance(given, str) else json.dumps(given))


def prepared(schema: Schema) -> Any:
    """As fastavro takes it, with the types that it refers to."""
    import fastavro

    names: dict[str, Any] = {}
    for _, text in schema.references:
        fastavro.parse_schema(json.loads(text), named_schemas=names)
    return fastavro.parse_schema(json.loads(schema.text), named_schemas=names)


def walk_of(schema: Schema) -> Walk:
    return avro_walk(parsed(schema).root)  # type: ignore[attr-defined]


def full_name(schema: Any) -> str | None:
    """Of a record, an enum or a fixed; a primitive type is its own name, as in Confluent's."""
    if isinstance(schema, str):
        return schema
    if not isinstance(schema, dict):
        return None
    name, space = schema.get("name"), schema.get("namespace")
    if name is None:
        kind = schema.get("type")
        return kind if isinstance(kind, str) else None
    return f"{space}.{name}" if space and "." not in name else str(name)
