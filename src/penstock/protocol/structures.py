"""Reading a structure that kio declares, with a `Reader` that trusts nothing.

kio's own reader believes the length of an array before it looks at the bytes that remain: a few bytes can
make it ask for terabytes, and the process is gone (CVE-2022-34917 was the same mistake in Kafka). So its
classes are used, and its reader is not. Known to `protocol.messages` alone.
"""

from __future__ import annotations

import dataclasses
import typing
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from penstock.protocol.primitives import ZERO_UUID, MalformedMessage, Reader

Read = Callable[[Reader], Any]

_LONGEST_MS: Final = 10**15


def read_structure(entity: type, reader: Reader) -> Any:
    """An instance of `entity` from where `reader` stands. Raises MalformedMessage."""
    return _structure_reader(entity)(reader)


@cache
def _structure_reader(entity: Any) -> Read:
    hints = typing.get_type_hints(entity)
    plain: list[tuple[str, Read]] = []
    tagged: dict[int, tuple[str, Read]] = {}
    for field in dataclasses.fields(entity):
        read = _field_reader(field, hints[field.name])
        if "tag" in field.metadata:
            tagged[field.metadata["tag"]] = (field.name, read)
        else:
            plain.append((field.name, read))

    def read_fields(reader: Reader) -> Any:
        values = {name: read(reader) for name, read in plain}
        for tag, data in reader.tags().items():
            if tag in tagged:
                name, read = tagged[tag]
                values[name] = read(Reader(data, flexible=True))
        return entity(**values)

    def read_structure(reader: Reader) -> Any:
        reader.flexible = entity.__flexible__
        return read_fields(reader)

    return read_structure


def _field_reader(field: dataclasses.Field[Any], hint: Any) -> Read:
    is_nullable = type(None) in typing.get_args(hint)
    inner = _without_null(hint)
    if typing.get_origin(inner) is tuple:
        item_type = typing.get_args(inner)[0]
        item = (
            _structure_reader(item_type)
            if _is_structure(item_type)
            else _primitive_reader(field, is_nullable=False)
        )
        return _array_reader(field.name, item, is_nullable=is_nullable)
    if _is_structure(inner):
        return _nullable_structure_reader(inner) if is_nullable else _structure_reader(inner)
    return _primitive_reader(field, is_nullable=is_nullable)


def _is_structure(kind: Any) -> bool:
    return dataclasses.is_dataclass(kind)


def _without_null(hint: Any) -> Any:
    """`X` from `X | None`."""
    kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)]
    return kinds[0] if type(None) in typing.get_args(hint) else hint


def _array_reader(name: str, item: Read, *, is_nullable: bool) -> Read:
    def read(reader: Reader) -> Any:
        count = reader.nullable_array()
        if count < 0:
            if not is_nullable:
                raise MalformedMessage(f"null where the array {name} must stand")
            return None
        return tuple([item(reader) for _ in range(count)])

    return read


def _nullable_structure_reader(entity: Any) -> Read:
    read = _structure_reader(entity)
    return lambda reader: read(reader) if reader.int8() >= 0 else None


def _primitive_reader(field: dataclasses.Field[Any], *, is_nullable: bool) -> Read:
    kind = field.metadata["kafka_type"]
    if kind in ("string", "bytes", "records"):
        return (_NULLABLE if is_nullable else _REQUIRED)[kind]
    return _FIXED[kind]


def _bytes(reader: Reader) -> bytes | None:
    data = reader.nullable_bytes()
    return None if data is None else bytes(data)


def _required_bytes(reader: Reader) -> bytes:
    data = reader.nullable_bytes()
    if data is None:
        raise MalformedMessage("null where bytes must stand")
    return bytes(data)


def _uuid(reader: Reader) -> uuid.UUID | None:
    value = reader.uuid()
    return None if value == ZERO_UUID else uuid.UUID(bytes=value)


def _duration(milliseconds: int) -> timedelta:
    """A time beyond all ages is as good as the longest that can be held."""
    return timedelta(milliseconds=max(-_LONGEST_MS, min(milliseconds, _LONGEST_MS)))


def _moment(milliseconds: int) -> datetime | None:
    try:
        return None if milliseconds == -1 else datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        raise MalformedMessage(f"a moment of {milliseconds} ms") from None


def _error_code(reader: Reader) -> Any:
    from kio.schema.errors import ErrorCode

    try:
        return ErrorCode(reader.int16())
    except ValueError as error:
        raise MalformedMessage(str(error)) from None


_NULLABLE: Final[dict[str, Read]] = {"string": Reader.nullable_string, "bytes": _bytes, "records": _bytes}
_REQUIRED: Final[dict[str, Read]] = {
    "string": Reader.string,
    "bytes": _required_bytes,
    "records": _required_bytes,
}
_FIXED: Final[dict[str, Read]] = {
    "bool": Reader.boolean,
    "int8": Reader.int8,
    "int16": Reader.int16,
    "uint16": lambda reader: reader.int16() & 0xFFFF,
    "int32": Reader.int32,
    "int64": Reader.int64,
    "float64": Reader.float64,
    "uuid": _uuid,
    "error_code": _error_code,
    "timedelta_i32": lambda reader: _duration(reader.int32()),
    "timedelta_i64": lambda reader: _duration(reader.int64()),
    "datetime_i64": lambda reader: _moment(reader.int64()),
}
