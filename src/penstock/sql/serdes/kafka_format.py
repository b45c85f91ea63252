"""KAFKA: one column in the bytes of Kafka's own serialisers. NONE: no columns, no bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

from penstock.expressions import types as t
from penstock.plan.row_schemas import ColumnSchema
from penstock.sql.serdes.codec import FormatError, Row, unreadable, unwritable

_NUMBERS: Final = {
    t.INTEGER: ("Integer", struct.Struct(">i")),
    t.BIGINT: ("Long", struct.Struct(">q")),
    t.DOUBLE: ("Double", struct.Struct(">d")),
}


class NoneCodec:
    """Key columns there are none; what a record has as its key is passed over."""

    def encode(self, topic: str, row: Sequence[Any]) -> bytes | None:
        return None

    def decode(self, topic: str, data: bytes) -> Row | None:
        return []


class KafkaCodec:
    """One bare column. Bytes of another length are an error; nothing is converted."""

    def __init__(self, columns: Sequence[ColumnSchema], part: str) -> None:
        if len(columns) > 1:
            named = ", ".join(map(str, columns))
            raise FormatError(f"The 'KAFKA' format only supports a single field. Got: [{named}]")
        self._part, self._empty = part, not columns
        self._write: Callable[[Any], bytes] = _encoded
        self._read: Callable[[bytes], Any] = _decoded
        if columns:
            self._write, self._read = _functions(columns[0])

    def encode(self, topic: str, row: Sequence[Any]) -> bytes | None:
        if self._empty or row[0] is None:
            return None
        try:
            return self._write(row[0])
        except (struct.error, UnicodeError) as error:
            raise unwritable(topic, self._part, error) from error

    def decode(self, topic: str, data: bytes) -> Row | None:
        if self._empty:
            return []
        try:
            return [self._read(data)]
        except (ValueError, UnicodeError) as error:
            raise unreadable(topic, self._part, error) from error


def _functions(column: ColumnSchema) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    kind = column.type
    if kind == t.STRING:
        return _encoded, _decoded
    if kind == t.BYTES:
        return bytes, bytes
    if isinstance(kind, t.Simple) and kind in _NUMBERS:
        name, form = _NUMBERS[kind]
        return form.pack, _reader(name, form)
    raise FormatError(
        f"The 'KAFKA' format does not support type '{type_family(kind)}', column: `{column.name}`"
    )


def type_family(kind: t.SqlType) -> str:
    """A type without its parameters."""
    return str(kind) if isinstance(kind, t.Simple) else type(kind).__name__.upper()


def _encoded(value: str) -> bytes:
    return value.encode()


def _decoded(data: bytes) -> str:
    return data.decode(errors="replace")


def _reader(name: str, form: struct.Struct) -> Callable[[bytes], Any]:
    def read(data: bytes) -> Any:
        if len(data) != form.size:
            raise ValueError(f"Size of data received by {name}Deserializer is not {form.size}")
        return form.unpack(data)[0]

    return read
