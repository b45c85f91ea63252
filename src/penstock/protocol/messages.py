"""The long tail of messages, through kio, which only this module and `structures` know.

kio's classes are one per version and frozen. Handlers do not want to know: `read_request` gives kio's typed
request, whose fields are read with plain attribute access, and `encode` takes a response as nested mappings
and drops what the version has no field for. Modules are imported when a version is first used, because all of
them together cost seconds.
"""

from __future__ import annotations

import dataclasses
import io
import typing
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import import_module
from threading import Lock
from typing import Any

from penstock.protocol.apis import Api
from penstock.protocol.primitives import ZERO_UUID, Reader
from penstock.protocol.structures import read_structure

Build = Callable[[Any], Any]

_importing = Lock()
"""kio's packages and the modules in them import each other: two threads that begin at two ends are a
deadlock, which Python notices and refuses with an error."""


def read_request(api: Api, version: int, reader: Reader) -> Any:
    """The request that begins where `reader` stands."""
    return read_structure(_entity(api, version, "Request"), reader)


def read_response(api: Api, version: int, data: bytes) -> Any:
    """A response body, for clients and for tests."""
    return read_structure(_entity(api, version, "Response"), Reader(memoryview(data)))


def encode_response(api: Api, version: int, fields: Mapping[str, Any]) -> bytes:
    """A response body from nested mappings; times are milliseconds, ids are 16 bytes, error codes are
    numbers."""
    return _encode(_entity(api, version, "Response"), fields)


def encode_request(api: Api, version: int, fields: Mapping[str, Any]) -> bytes:
    """A request body, likewise."""
    return _encode(_entity(api, version, "Request"), fields)


def _encode(entity: type, fields: Mapping[str, Any]) -> bytes:
    out = io.BytesIO()
    _writer(entity)(out, _builder(entity)(fields))
    return out.getvalue()


@cache
def _entity(api: Api, version: int, kind: str) -> type:
    package = api.name.lower()
    with _importing:
        module = import_module(f"kio.schema.{package}.v{version}.{kind.lower()}")
    name = "".join(word.capitalize() for word in package.split("_")) + kind
    return typing.cast(type, getattr(module, name))


@cache
def _writer(entity: type) -> Callable[[io.BytesIO, Any], None]:
    with _importing:
        from kio.serial import entity_writer

    return typing.cast("Callable[[io.BytesIO, Any], None]", entity_writer(entity))


@cache
def _builder(entity: type) -> Build:
    """How to make an instance of `entity` from a mapping. Fields that the version lacks are dropped, missing
    ones need a default."""
    hints = typing.get_type_hints(entity)
    converters = {field.name: _converter(field, hints[field.name]) for field in dataclasses.fields(entity)}

    def build(values: Any) -> Any:
        return entity(
            **{name: convert(values[name]) for name, convert in converters.items() if name in values}
        )

    return build


def _converter(field: dataclasses.Field[Any], hint: Any) -> Build:
    nested = _nested(hint)
    item = _builder(nested) if nested else _CONVERTERS.get(field.metadata.get("kafka_type", ""), _unchanged)
    if _is_tuple(hint):
        return lambda values: None if values is None else tuple(map(item, values))
    return (lambda value: None if value is None else item(value)) if nested else item


def _nested(hint: Any) -> type | None:
    """The dataclass inside `X`, `X | None`, `tuple[X, ...]` and `tuple[X, ...] | None`."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return hint
    for argument in typing.get_args(hint):
        found = _nested(argument)
        if found is not None:
            return found
    return None


def _is_tuple(hint: Any) -> bool:
    return typing.get_origin(hint) is tuple or any(
        typing.get_origin(argument) is tuple for argument in typing.get_args(hint)
    )


def _unchanged(value: Any) -> Any:
    return value


def _error_code(value: int) -> Any:
    from kio.schema.errors import ErrorCode

    return ErrorCode(int(value))


def _uuid(value: bytes | None) -> uuid.UUID | None:
    return None if value is None or value == ZERO_UUID else uuid.UUID(bytes=value)


def _milliseconds(value: int) -> timedelta:
    return timedelta(milliseconds=value)


def _moment(value: int | None) -> datetime | None:
    return None if value is None else _EPOCH + timedelta(milliseconds=value)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_CONVERTERS: dict[str, Build] = {
    "error_code": _error_code,
    "datetime_i64": _moment,
    "timedelta_i32": _milliseconds,
    "timedelta_i64": _milliseconds,
    "uuid": _uuid,
}


def milliseconds(value: timedelta | int) -> int:
    """kio gives durations; everybody else here counts milliseconds."""
    return value if isinstance(value, int) else round(value.total_seconds() * 1000)


def id_bytes(value: uuid.UUID | None) -> bytes:
    """kio gives None for the zero id."""
    return ZERO_UUID if value is None else value.bytes
