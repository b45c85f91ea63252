"""What a converter is: bytes of a topic to a schema with a value, and back."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from penstock.connect.data.schema import Schema


class SchemaAndValue(NamedTuple):
    schema: Schema | None
    value: Any


class Converter(Protocol):
    """For keys or for values. It is used by one thread and may remember schemas."""

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """DataError for what has no form in bytes."""
        ...

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue:
        """DataError for bytes that are not of this converter."""
        ...


class HeaderConverter(Protocol):
    def from_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None: ...

    def to_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue: ...
