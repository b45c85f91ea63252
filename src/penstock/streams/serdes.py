"""Formats of keys and values: Kafka's simple ones, JSON, Avro and Protobuf. Your own has `serialize` and
`deserialize`.

Avro and Protobuf here are the bare formats with a schema that is known; Schema Registry's form is another
one.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

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
        text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False, allow_nan=False)
        return text.encode()

    def deserialize(self, topic: str, data: bytes) -> Any:
        return json.loads(data, parse_constant=_refuse)


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
