"""JSON Schema: `KafkaJsonSchemaSerializer(schema)` writes JSON, `KafkaJsonSchemaDeserializer()` reads it.

As in Confluent's, values are checked against the schema with `json.fail.invalid.schema=true` only.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.client.schema_registry import Schema, SchemaRegistry
from penstock.client.serdes.avro import Text
from penstock.client.serdes.reading import SchemaDeserializer
from penstock.client.serdes.registering import SchemaSerializer, as_dict, parsed
from penstock.client.serdes.rules.fields import Walk, json_walk
from penstock.schemas.codecs import Codec, codec_for
from penstock.schemas.schema import JSON


class _Form(NamedTuple):
    check: Codec | None


class KafkaJsonSchemaSerializer(SchemaSerializer[_Form]):
    """`schema` is text or a dict; without one the subject's latest version is used."""

    schema_type = JSON

    def __init__(
        self,
        schema: Text = None,
        *,
        to_dict: Callable[[Any], Any] | None = None,
        registry: SchemaRegistry | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        text = schema if schema is None or isinstance(schema, str) else json.dumps(schema)
        self._own = None if text is None else Schema(JSON, text)
        self._to_dict = to_dict
        super().__init__(registry, settings)

    def _schema_of(self, data: Any) -> Schema | None:
        return self._own

    def _record_name(self, schema: Schema) -> str | None:
        return _title(schema)

    def _walk(self, schema: Schema) -> Walk:
        return _walk_of(schema)

    def _value(self, form: _Form, data: Any) -> Any:
        return as_dict(data, self._to_dict)

    def _form(self, schema: Schema) -> _Form:
        return _Form(codec_for(parsed(schema)) if self.settings.fail_invalid_json else None)

    def _encode(self, form: _Form, value: Any) -> bytes:
        if form.check is not None:
            return form.check.encode(value)
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


class KafkaJsonSchemaDeserializer(SchemaDeserializer[_Form]):
    schema_type = JSON

    def __init__(
        self,
        *,
        from_dict: Callable[[Any], Any] | None = None,
        registry: SchemaRegistry | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        self._from_dict = from_dict
        super().__init__(registry, settings)

    def _form(self, schema: Schema, reader: Schema | None) -> _Form:
        return _Form(codec_for(parsed(reader or schema)) if self.settings.fail_invalid_json else None)

    def _record_name(self, schema: Schema) -> str | None:
        return _title(schema)

    def _walk(self, schema: Schema) -> Walk:
        return _walk_of(schema)

    def _decode(self, form: _Form, payload: bytes) -> Any:
        return json.loads(payload) if form.check is None else form.check.decode(payload)

    def _result(self, form: _Form, value: Any) -> Any:
        return value if self._from_dict is None else self._from_dict(value)


def _title(schema: Schema) -> str | None:
    found = json.loads(schema.text)
    return found.get("title") if isinstance(found, dict) else None


def _walk_of(schema: Schema) -> Walk:
    return json_walk(parsed(schema).document.place)  # type: ignore[attr-defined]
