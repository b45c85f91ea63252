"""Converters of headers: text that carries its type, or one of the plain converters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.connect.converters.converter import Converter, SchemaAndValue
from penstock.connect.data.literals import parse_literal
from penstock.connect.data.schema import Schema, Type
from penstock.connect.data.text import values_text


class SimpleHeaderConverter:
    """Writes text, and reads the smallest type that the text fits."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        pass

    def from_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        return None if value is None else values_text(value).encode()

    def to_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(None, None)
        try:
            return SchemaAndValue(*parse_literal(data.decode()))
        except UnicodeDecodeError:  # not text: it stays what it is
            return SchemaAndValue(Schema(Type.BYTES), data)


class ConvertedHeader:
    """A converter of values, for headers."""

    def __init__(self, converter: Converter) -> None:
        self._converter = converter

    def from_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        return self._converter.from_connect(topic, schema, value)

    def to_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        return self._converter.to_connect(topic, data)
