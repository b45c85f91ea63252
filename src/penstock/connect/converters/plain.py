"""Converters without a schema of their own: text, bytes, and numbers as Kafka's serializers write them."""

from __future__ import annotations

import codecs
import struct
from collections.abc import Mapping
from typing import Any, Final

from penstock.connect.converters.converter import SchemaAndValue
from penstock.connect.data import schema as s
from penstock.connect.data.schema import INTEGER_BITS, Schema, Type
from penstock.connect.data.struct import Float32
from penstock.connect.data.text import java_text
from penstock.connect.errors import ConfigError, DataError


class StringConverter:
    """Text; what is not text is written as Java's `toString` would. `converter.encoding` names the
    encoding."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._encoding = str(settings.get("converter.encoding", "UTF8"))
        try:
            "".encode(self._encoding)
        except LookupError:
            raise ConfigError("converter.encoding", self._encoding, "no such encoding") from None

    @property
    def is_utf8(self) -> bool:
        return codecs.lookup(self._encoding).name == "utf-8"

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        return (value if type(value) is str else java_text(value)).encode(self._encoding)

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue:
        try:
            text = None if data is None else data.decode(self._encoding)
        except UnicodeDecodeError as error:
            raise DataError(f"Failed to deserialize string: {error}") from error
        return SchemaAndValue(_OPTIONAL_STRING, text)


class ByteArrayConverter:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        pass

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.type is not Type.BYTES:
            raise DataError(f"Invalid schema type for ByteArrayConverter: {schema.type.name}")
        if value is not None and not isinstance(value, (bytes, bytearray, memoryview)):
            raise DataError(
                f"ByteArrayConverter is not compatible with objects of type {type(value).__name__}"
            )
        return None if value is None else bytes(value)

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue:
        return SchemaAndValue(_OPTIONAL_BYTES, data)


class NumberConverter:
    """A number of fixed size, the highest byte first."""

    kind: Type
    form: struct.Struct

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._schema = Schema(self.kind, optional=True)

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.type is not self.kind:
            raise DataError(f"Invalid schema type for {type(self).__name__}: {schema.type.name}")
        if value is None:
            return None
        try:
            if isinstance(value, bool) or (self.kind in INTEGER_BITS and not isinstance(value, int)):
                raise struct.error(f"{type(value).__name__} is no number of this type")
            return self.form.pack(value)
        except struct.error as error:
            raise DataError(f"Failed to serialize to {self.kind.value}: {error}") from error

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(self._schema, None)
        if len(data) != self.form.size:
            raise DataError(f"Failed to deserialize: Size of data received is not {self.form.size}")
        value = self.form.unpack(data)[0]
        return SchemaAndValue(self._schema, Float32(value) if self.kind is Type.FLOAT32 else value)


class ShortConverter(NumberConverter):
    kind, form = Type.INT16, struct.Struct(">h")


class IntegerConverter(NumberConverter):
    kind, form = Type.INT32, struct.Struct(">i")


class LongConverter(NumberConverter):
    kind, form = Type.INT64, struct.Struct(">q")


class FloatConverter(NumberConverter):
    kind, form = Type.FLOAT32, struct.Struct(">f")


class DoubleConverter(NumberConverter):
    kind, form = Type.FLOAT64, struct.Struct(">d")


class BooleanConverter:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        pass

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.type is not Type.BOOLEAN:
            raise DataError(f"Invalid schema type for BooleanConverter: {schema.type.name}")
        if value is not None and not isinstance(value, bool):
            raise DataError(f"BooleanConverter is not compatible with objects of type {type(value).__name__}")
        return None if value is None else bytes([value])

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data not in (None, b"\x00", b"\x01"):
            raise DataError("Unexpected byte received by BooleanConverter")
        return SchemaAndValue(_OPTIONAL_BOOLEAN, None if data is None else data == b"\x01")


_OPTIONAL_STRING: Final = s.STRING.as_optional()
_OPTIONAL_BYTES: Final = s.BYTES.as_optional()
_OPTIONAL_BOOLEAN: Final = s.BOOLEAN.as_optional()
