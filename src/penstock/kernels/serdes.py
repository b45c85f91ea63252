"""How keys and values become bytes and back: Kafka's own forms, byte for byte where Kafka has one.

Formats that need a library (JSON, Avro, Protobuf) live in `streams/serdes.py`; the protocol is here because
stores and internal topics are made of bytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

from penstock.kernels.record import Change, Windowed

T = TypeVar("T")

_LONG: Final = struct.Struct(">q")
_TWO_LONGS: Final = struct.Struct(">qq")


class SerdeError(ValueError):
    """Bytes that are no value of this format, or a value that has no bytes in it."""


class Serde(Protocol[T]):
    """What a format must have. `None` never reaches it: null stays null."""

    def serialize(self, topic: str, value: T) -> bytes: ...

    def deserialize(self, topic: str, data: bytes) -> T: ...


def to_bytes(serde: Serde[Any], topic: str, value: Any) -> bytes | None:
    if value is None:
        return None
    try:
        return serde.serialize(topic, value)
    except SerdeError:
        raise
    except Exception as error:
        raise SerdeError(f"{value!r:.80} cannot be written with {serde!r} for {topic}: {error}") from error


def from_bytes(serde: Serde[Any], topic: str, data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return serde.deserialize(topic, data)
    except SerdeError:
        raise
    except Exception as error:
        raise SerdeError(f"{data[:40]!r} of {topic} cannot be read with {serde!r}: {error}") from error


@dataclass(frozen=True)
class StringSerde:
    """UTF-8."""

    def serialize(self, topic: str, value: str) -> bytes:
        return value.encode()

    def deserialize(self, topic: str, data: bytes) -> str:
        return data.decode()


@dataclass(frozen=True)
class BytesSerde:
    """Bytes as they are."""

    def serialize(self, topic: str, value: bytes) -> bytes:
        return bytes(value)

    def deserialize(self, topic: str, data: bytes) -> bytes:
        return data


class _Number(Generic[T]):
    """A number in a fixed number of bytes."""

    _form: ClassVar[struct.Struct]

    def serialize(self, topic: str, value: T) -> bytes:
        try:
            return self._form.pack(value)
        except struct.error as error:
            raise SerdeError(f"{value!r} does not fit {self._form.size} bytes: {error}") from error

    def deserialize(self, topic: str, data: bytes) -> T:
        if len(data) != self._form.size:
            raise SerdeError(f"{len(data)} bytes of {topic} where {self._form.size} were expected")
        value: T = self._form.unpack(data)[0]
        return value


@dataclass(frozen=True)
class ShortSerde(_Number[int]):
    """Two bytes, big-endian."""

    _form = struct.Struct(">h")


@dataclass(frozen=True)
class IntSerde(_Number[int]):
    """Four bytes, big-endian."""

    _form = struct.Struct(">i")


@dataclass(frozen=True)
class LongSerde(_Number[int]):
    """Eight bytes, big-endian."""

    _form = struct.Struct(">q")


@dataclass(frozen=True)
class FloatSerde(_Number[float]):
    """Four bytes, IEEE 754."""

    _form = struct.Struct(">f")


@dataclass(frozen=True)
class DoubleSerde(_Number[float]):
    """Eight bytes, IEEE 754."""

    _form = struct.Struct(">d")


@dataclass(frozen=True)
class BooleanSerde:
    """One byte."""

    def serialize(self, topic: str, value: bool) -> bytes:
        return b"\x01" if value else b"\x00"

    def deserialize(self, topic: str, data: bytes) -> bool:
        if data not in (b"\x00", b"\x01"):
            raise SerdeError(f"{data[:10]!r} of {topic} is no boolean")
        return data == b"\x01"


@dataclass(frozen=True)
class TimeWindowedSerde:
    """A key of a time or sliding window: the key, then the window's start. Its size is known from the
    topology.
    """

    inner: Serde[Any]
    size_ms: int

    def serialize(self, topic: str, value: Windowed) -> bytes:
        return self.inner.serialize(topic, value.key) + _LONG.pack(value.start)

    def deserialize(self, topic: str, data: bytes) -> Windowed:
        (start,) = _LONG.unpack(data[-8:])
        return Windowed(self.inner.deserialize(topic, data[:-8]), start, start + self.size_ms)


@dataclass(frozen=True)
class SessionWindowedSerde:
    """A key of a session: the key, then its end, then its start."""

    inner: Serde[Any]

    def serialize(self, topic: str, value: Windowed) -> bytes:
        return self.inner.serialize(topic, value.key) + _TWO_LONGS.pack(value.end, value.start)

    def deserialize(self, topic: str, data: bytes) -> Windowed:
        end, start = _TWO_LONGS.unpack(data[-16:])
        return Windowed(self.inner.deserialize(topic, data[:-16]), start, end)


@dataclass(frozen=True)
class ChangeSerde:
    """A change of a table's row on its way through a repartition topic; which halves are there says the
    last byte.
    """

    inner: Serde[Any]

    def serialize(self, topic: str, value: Change) -> bytes:
        new, old = to_bytes(self.inner, topic, value.new), to_bytes(self.inner, topic, value.old)
        if new is not None and old is not None:
            return _varint(len(new)) + new + old + b"\x02"
        if new is not None:
            return new + b"\x01"
        if old is not None:
            return old + b"\x00"
        raise SerdeError("a change from nothing to nothing has no bytes")

    def deserialize(self, topic: str, data: bytes) -> Change:
        body, flag = data[:-1], data[-1]
        if flag == 0:
            return Change(None, self.inner.deserialize(topic, body))
        if flag == 1:
            return Change(self.inner.deserialize(topic, body), None)
        length, at = _read_varint(body)
        new, old = body[at : at + length], body[at + length :]
        return Change(self.inner.deserialize(topic, new), self.inner.deserialize(topic, old))


def _varint(value: int) -> bytes:
    value <<= 1  # zigzag of what is never negative
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data: bytes) -> tuple[int, int]:
    value = shift = at = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value >> 1, at
        shift += 7
