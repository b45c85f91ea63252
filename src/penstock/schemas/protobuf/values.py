"""Protobuf values as ProtoJSON, with the names of JSON and with fields that have their default values.

The payload begins with the indexes of the message in its file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from penstock.schemas.errors import InvalidFrame, InvalidValue
from penstock.schemas.protobuf.building import build_pool
from penstock.schemas.protobuf.schema import ProtobufSchema
from penstock.schemas.wire_format import read_indexes, write_indexes


class ProtobufCodec:
    """Writes the first message of the file, unless another is named; reads the one that the bytes name."""

    def __init__(self, schema: ProtobufSchema, message: str = "") -> None:
        self._pool = build_pool(schema.file, schema.imports)
        self._file = self._pool.FindFileByName(schema.file.name)
        self._indexes = _indexes_of(schema, message)

    def encode(self, value: Any) -> bytes:
        return self.bytes_of(self.message_of(value))

    def message_of(self, value: Any) -> Any:
        """The message that ProtoJSON describes."""
        if not isinstance(value, dict):
            raise InvalidValue(f"{repr(value)[:80]} is no Protobuf message: a JSON object is.")
        message = self._class(self._indexes)()
        try:
            json_format.ParseDict(value, message, descriptor_pool=self._pool)
        except (json_format.ParseError, ValueError, TypeError, AttributeError) as error:
            raise InvalidValue(f"The value does not fit its Protobuf schema: {error}") from error
        return message

    def bytes_of(self, message: Any) -> bytes:
        return write_indexes(tuple(self._indexes)) + bytes(message.SerializeToString())

    def decode(self, payload: bytes) -> Any:
        return self.value_of(self.read(payload))

    def read(self, payload: bytes) -> Any:
        """The message in the bytes."""
        indexes, position = read_indexes(payload, 0)
        message = self._class(indexes)()
        try:
            message.ParseFromString(payload[position:])
        except (DecodeError, ValueError) as error:
            raise InvalidValue(f"The bytes are not of their Protobuf schema: {error}") from error
        return message

    def value_of(self, message: Any) -> Any:
        """The message as ProtoJSON."""
        try:
            return json_format.MessageToDict(
                message, always_print_fields_with_no_presence=True, descriptor_pool=self._pool
            )
        except (json_format.Error, ValueError) as error:
            raise InvalidValue(f"The bytes are not of their Protobuf schema: {error}") from error

    def _class(self, indexes: Sequence[int]) -> Any:
        found = self._file.message_types_by_name
        levels = [list(found.values())]
        for index in indexes:
            if not 0 <= index < len(levels[-1]):
                raise InvalidFrame(f"The schema has no message {list(indexes)}.")
            descriptor = levels[-1][index]
            levels.append(list(descriptor.nested_types))
        return GetMessageClass(descriptor)


def _indexes_of(schema: ProtobufSchema, name: str) -> list[int]:
    """Where a message stands: its place in the file, then in the message around it."""
    if not name:
        if not schema.file.message_type:
            raise InvalidValue("The Protobuf schema has no message.")
        return [0]
    package = f"{schema.file.package}." if schema.file.package else ""
    messages, indexes = schema.file.message_type, []
    for part in name.removeprefix(package).split("."):
        at = next((at for at, each in enumerate(messages) if each.name == part), None)
        if at is None:
            raise InvalidValue(f"The Protobuf schema has no message {name!r}.")
        indexes.append(at)
        messages = messages[at].nested_type
    return indexes
