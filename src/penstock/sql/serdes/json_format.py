"""JSON: an object with a field for each column, or one bare value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.expressions import types as t
from penstock.plan.row_schemas import ColumnSchema
from penstock.sql.serdes.codec import FormatError, Row, unreadable, unwritable
from penstock.sql.serdes.json_fast import fast_reader, fast_writer
from penstock.sql.serdes.json_reading import fields_reader, parse, reader, wrong_type
from penstock.sql.serdes.json_writing import encode, fields_writer, writer


class JsonCodec:
    def __init__(self, columns: Sequence[ColumnSchema], part: str, *, wrapped: bool) -> None:
        fields = [(column.name, column.type) for column in columns]
        self._names = tuple(column.name for column in columns)
        self._part, self._bare = part, not wrapped and len(columns) == 1
        self._kind = t.struct_of(fields)
        if self._bare:
            self._read_one, self._write_one = reader(columns[0].type), writer(columns[0].type)
        self._read, self._write = fields_reader(fields), fields_writer(fields)
        self._read_fast = None if self._bare else fast_reader(fields)
        self._write_fast = fast_writer(fields)

    def encode(self, topic: str, row: Sequence[Any]) -> bytes | None:
        if self._bare and row[0] is None:
            return None
        try:
            return encode(self._write_one(row[0]) if self._bare else self._write(row))
        except (ValueError, TypeError, RecursionError) as error:
            raise unwritable(topic, self._part, error) from error

    def decode(self, topic: str, data: bytes) -> Row | None:
        try:
            return self.from_json(parse(data))
        except FormatError as error:
            raise unreadable(topic, self._part, error) from error

    def decode_mapping(self, topic: str, data: bytes) -> dict[str, Any] | None:
        """The same as `decode`, as columns and values."""
        if self._read_fast is not None:
            found = self._read_fast(data)
            if found is not None:
                return found
        row = self.decode(topic, data)
        return None if row is None else dict(zip(self._names, row, strict=True))

    def encode_mapping(self, topic: str, row: Mapping[str, Any]) -> bytes | None:
        if self._bare:
            return self.encode(topic, [row.get(name) for name in self._names])
        try:
            return self._write_fast(row)
        except (ValueError, TypeError, RecursionError) as error:
            raise unwritable(topic, self._part, error) from error

    def from_json(self, value: Any) -> Row | None:
        if value is None:
            return None
        if self._bare:
            return [self._read_one(value, "$")]
        if not isinstance(value, dict):
            raise wrong_type(value, self._kind, "$")
        return self._read(value, "$")
