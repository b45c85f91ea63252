"""PROTOBUF: a frame, the place of the message in its schema, and a message. PROTOBUF_NOSR: the message alone.

A field without presence has its default where it is null, and is read back as that: `OPTIONAL` and `WRAPPER`
(`protobuf_schema.py`) keep nulls apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from penstock.client.schema_registry import Schema
from penstock.plan.row_schemas import ColumnSchema
from penstock.schemas.errors import InvalidFrame, InvalidSchema
from penstock.schemas.wire_format import (
    HEADER_BYTES,
    read_header,
    read_indexes,
    write_header,
    write_indexes,
)
from penstock.sql.serdes.codec import FormatError, Row, unreadable, unwritable
from penstock.sql.serdes.generic_values import fields_converter
from penstock.sql.serdes.protobuf_values import fill, plain
from penstock.sql.serdes.registration import Registration

_BROKEN: Final = (ValueError, TypeError, KeyError, OverflowError, InvalidFrame, InvalidSchema, FormatError)


class ProtobufCodec:
    def __init__(
        self,
        columns: Sequence[ColumnSchema],
        part: str,
        schema: Schema,
        registration: Registration | None,
        full_name: str = "",
    ) -> None:
        self._names = [column.name for column in columns]
        self._part, self._schema, self._registration = part, schema, registration
        self._full_name = full_name
        self._fields = fields_converter([(column.name, column.type) for column in columns])

    def encode(self, topic: str, row: Sequence[Any]) -> bytes | None:
        try:
            if self._registration is None:
                return self._written(_file(self._schema), row)[1]
            schema_id = self._registration.id_for(topic)
            path, data = self._written(_file(self._registration.schemas.by_id(schema_id)), row)
            return write_header(schema_id) + write_indexes(path) + data
        except _BROKEN as error:
            raise unwritable(topic, self._part, error) from error

    def _written(self, file: Any, row: Sequence[Any]) -> tuple[tuple[int, ...], bytes]:
        from google.protobuf.message_factory import GetMessageClass

        from penstock.schemas.protobuf.messages import message_at, message_named, path_of

        named = self._full_name and self._registration is not None
        found = message_named(file, self._full_name) if named else message_at(file, (0,))
        message = GetMessageClass(found)()
        fill(message, dict(zip(self._names, row, strict=True)))
        return path_of(found), bytes(message.SerializeToString())

    def decode(self, topic: str, data: bytes) -> Row | None:
        from google.protobuf.message import DecodeError
        from google.protobuf.message_factory import GetMessageClass

        from penstock.schemas.protobuf.messages import message_at

        try:
            file, path, begins = _file(self._schema), (0,), 0
            if self._registration is not None:
                file = _file(self._registration.schemas.by_id(read_header(data)))
                path, begins = read_indexes(data, HEADER_BYTES)  # type: ignore[assignment]
            message = GetMessageClass(message_at(file, path))()
            message.ParseFromString(data[begins:])
            return self._fields(plain(message))
        except (*_BROKEN, DecodeError) as error:
            raise unreadable(topic, self._part, error) from error


@lru_cache(maxsize=1000)
def _file(schema: Schema) -> Any:
    from penstock.schemas.protobuf.messages import describe

    return describe(schema.text, dict(schema.references))
