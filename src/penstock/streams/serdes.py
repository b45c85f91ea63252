"""Formats of keys and values: Kafka's simple ones, JSON, Avro and Protobuf. Your own has `serialize` and
`deserialize`.

Avro and Protobuf here are the bare formats with a schema that is known; Schema Registry's form is another
one.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

import msgspec

from penstock.kernels.serdes import (
    BooleanSerde,
    BytesSerde,
    DoubleSerde,
    FloatSerde,
    IntSerde,
    LongSerde,
    Serde,
    SerdeError,
    SessionWindowedSerde,
    ShortSerde,
    StringSerde,
    TimeWindowedSerde,
)

__all__ = [
    "AvroSerde",
    "BooleanSerde",
    "BytesSerde",
    "DoubleSerde",
    "FloatSerde",
    "IntSerde",
    "JsonSerde",
    "LongSerde",
    "ProtobufSerde",
    "Serde",
    "SerdeError",
    "SessionWindowedSerde",
    "ShortSerde",
    "StringSerde",
    "TimeWindowedSerde",
]


@dataclass(frozen=True)
class JsonSerde:
    """JSON, UTF-8, keys of objects in order, so that equal values have equal bytes. JSON has no NaN and no
    infinity: they are refused in both directions, since other languages could not read them.
    """

    def serialize(self, topic: str, value: Any) -> bytes:
        if _is_plain(value):
            return _PLAIN_ENCODER.encode(value)
        return _ENCODER.encode(value).encode()

    def deserialize(self, topic: str, data: bytes) -> Any:
        try:
            return _DECODER.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return json.loads(data, parse_constant=_refuse)  # which also reads UTF-16 and numbers too large


# msgspec is ten times as fast as Python's own encoder and writes the same bytes for plain values. It would
# also write what JSON does not have: NaN as null, bytes as base64.
_PLAIN_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), sort_keys=True, ensure_ascii=False, allow_nan=False)
_DECODER: Final = msgspec.json.Decoder()
_PLAIN_TYPES: Final = frozenset({str, bool, type(None)})


def _is_plain(value: Any) -> bool:
    """Whether both encoders write the value alike: numbers with an exponent differ, for instance."""
    kind = type(value)
    if kind in _PLAIN_TYPES:
        return True
    if kind is int:
        return bool(-(1 << 63) <= value < 1 << 63)
    if kind is float:
        return bool(1e-4 <= abs(value) < 1e16)
    if kind is dict:
        return all(type(key) is str and _is_plain(item) for key, item in value.items())
    return kind is list and all(map(_is_plain, value))


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


@dataclass(frozen=True)
class AvroSerde:
    """Avro's binary form with one schema, given as JSON text."""

    schema: str

    def __post_init__(self) -> None:
        import fastavro  # where it is used: not every topology has Avro

        object.__setattr__(self, "_parsed", fastavro.parse_schema(json.loads(self.schema)))

    def serialize(self, topic: str, value: Any) -> bytes:
        import fastavro

        out = io.BytesIO()
        fastavro.schemaless_writer(out, self._parsed, value)  # type: ignore[attr-defined]
        return out.getvalue()

    def deserialize(self, topic: str, data: bytes) -> Any:
        import fastavro

        return fastavro.schemaless_reader(io.BytesIO(data), self._parsed, None)  # type: ignore[attr-defined]


class _Message(Protocol):
    def SerializeToString(self, *, deterministic: bool = ...) -> bytes: ...  # noqa: N802

    def ParseFromString(self, data: bytes, /) -> int: ...  # noqa: N802


M = TypeVar("M", bound=_Message)


@dataclass(frozen=True)
class ProtobufSerde:
    """Messages of one generated class."""

    message: type[Any]

    def serialize(self, topic: str, value: _Message) -> bytes:
        return value.SerializeToString(deterministic=True)

    def deserialize(self, topic: str, data: bytes) -> Any:
        message = self.message()
        message.ParseFromString(data)
        return message
