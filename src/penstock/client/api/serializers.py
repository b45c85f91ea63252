"""Serializers and deserializers, as Java's: objects with `serialize(topic, data)` or `deserialize(topic,
data)`.

A plain function of the value works too. Each may have `configure(settings, is_key)` and `close()`. Null stays
null without a call.
"""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import Callable
from typing import Any, Final, Protocol

from penstock.client.api.exceptions import SerializationException


class Serializer(Protocol):
    def serialize(self, topic: str, data: Any) -> bytes | None: ...


class Deserializer(Protocol):
    def deserialize(self, topic: str, data: bytes) -> Any: ...


class BytesSerializer:
    def serialize(self, topic: str, data: Any) -> bytes | None:
        if data is None or isinstance(data, bytes):
            return data
        if isinstance(data, (bytearray, memoryview)):
            return bytes(data)
        raise SerializationException(f"BytesSerializer takes bytes, not {type(data).__name__}.")


class BytesDeserializer:
    def deserialize(self, topic: str, data: bytes) -> Any:
        return data


class StringSerializer:
    def __init__(self, encoding: str = "utf-8") -> None:
        self._encoding = encoding

    def configure(self, settings: dict[str, Any], is_key: bool) -> None:
        side = "key" if is_key else "value"
        given = settings.get(f"{side}.serializer.encoding", settings.get("serializer.encoding"))
        self._encoding = given or self._encoding

    def serialize(self, topic: str, data: Any) -> bytes | None:
        if not isinstance(data, str):
            raise SerializationException(f"StringSerializer takes a str, not {type(data).__name__}.")
        return data.encode(self._encoding)


class StringDeserializer:
    def __init__(self, encoding: str = "utf-8") -> None:
        self._encoding = encoding

    def configure(self, settings: dict[str, Any], is_key: bool) -> None:
        side = "key" if is_key else "value"
        given = settings.get(f"{side}.deserializer.encoding", settings.get("deserializer.encoding"))
        self._encoding = given or self._encoding

    def deserialize(self, topic: str, data: bytes) -> str:
        try:
            return data.decode(self._encoding)
        except UnicodeDecodeError as error:
            raise SerializationException(f"{len(data)} bytes are not {self._encoding}: {error}.") from error


class _Number:
    """Java's numbers: big-endian, of a fixed size."""

    format: str
    size: int
    name: str

    def serialize(self, topic: str, data: Any) -> bytes | None:
        try:
            return struct.pack(self.format, data)
        except (struct.error, TypeError) as error:
            raise SerializationException(
                f"{data!r} is not a {self.name} of {self.size} bytes: {error}."
            ) from error

    def deserialize(self, topic: str, data: bytes) -> Any:
        if len(data) != self.size:
            raise SerializationException(f"A {self.name} has {self.size} bytes, not {len(data)}.")
        return struct.unpack(self.format, data)[0]


class ShortSerializer(_Number):
    format, size, name = ">h", 2, "short"


class IntegerSerializer(_Number):
    format, size, name = ">i", 4, "integer"


class LongSerializer(_Number):
    format, size, name = ">q", 8, "long"


class FloatSerializer(_Number):
    format, size, name = ">f", 4, "float"


class DoubleSerializer(_Number):
    format, size, name = ">d", 8, "double"


class ShortDeserializer(ShortSerializer): ...


class IntegerDeserializer(IntegerSerializer): ...


class LongDeserializer(LongSerializer): ...


class FloatDeserializer(FloatSerializer): ...


class DoubleDeserializer(DoubleSerializer): ...


class BooleanSerializer:
    def serialize(self, topic: str, data: Any) -> bytes | None:
        if not isinstance(data, bool):
            raise SerializationException(f"BooleanSerializer takes a bool, not {type(data).__name__}.")
        return b"\x01" if data else b"\x00"


class BooleanDeserializer:
    def deserialize(self, topic: str, data: bytes) -> bool:
        if data not in (b"\x00", b"\x01"):
            raise SerializationException(f"A boolean is one byte, 0 or 1, not {data[:8]!r}.")
        return data == b"\x01"


class UUIDSerializer:
    def serialize(self, topic: str, data: Any) -> bytes | None:
        if not isinstance(data, uuid.UUID):
            raise SerializationException(f"UUIDSerializer takes a uuid.UUID, not {type(data).__name__}.")
        return str(data).encode()


class UUIDDeserializer:
    def deserialize(self, topic: str, data: bytes) -> uuid.UUID:
        try:
            return uuid.UUID(data.decode("ascii"))
        except ValueError as error:
            raise SerializationException(f"{data[:40]!r} is not the text of a UUID.") from error


class VoidSerializer:
    def serialize(self, topic: str, data: Any) -> bytes | None:
        raise SerializationException("VoidSerializer takes None only.")


class VoidDeserializer:
    def deserialize(self, topic: str, data: bytes) -> None:
        raise SerializationException("VoidDeserializer takes null only.")


class JsonSerializer:
    """UTF-8 text without spaces; NaN is refused, since JSON has none."""

    def serialize(self, topic: str, data: Any) -> bytes | None:
        try:
            text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise SerializationException(f"The value cannot be written as JSON: {error}.") from error
        return text.encode()


class JsonDeserializer:
    def deserialize(self, topic: str, data: bytes) -> Any:
        try:
            return json.loads(data)
        except ValueError as error:
            raise SerializationException(f"{len(data)} bytes are not JSON: {error}.") from error


class _OfFunction:
    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def serialize(self, topic: str, data: Any) -> Any:
        return self._function(data)

    deserialize = serialize


_KINDS: Final = (
    BytesSerializer,
    BytesDeserializer,
    StringSerializer,
    StringDeserializer,
    ShortSerializer,
    ShortDeserializer,
    IntegerSerializer,
    IntegerDeserializer,
    LongSerializer,
    LongDeserializer,
    FloatSerializer,
    FloatDeserializer,
    DoubleSerializer,
    DoubleDeserializer,
    BooleanSerializer,
    BooleanDeserializer,
    UUIDSerializer,
    UUIDDeserializer,
    VoidSerializer,
    VoidDeserializer,
)
BY_JAVA_NAME: Final[dict[str, type]] = {
    **{f"org.apache.kafka.common.serialization.{kind.__name__}": kind for kind in _KINDS},
    "org.apache.kafka.common.serialization.ByteArraySerializer": BytesSerializer,
    "org.apache.kafka.common.serialization.ByteArrayDeserializer": BytesDeserializer,
    "org.apache.kafka.common.serialization.ByteBufferSerializer": BytesSerializer,
    "org.apache.kafka.common.serialization.ByteBufferDeserializer": BytesDeserializer,
}

_CONFLUENT: Final = "io.confluent.kafka.serializers"
REGISTRY_SERDES: Final[dict[str, str]] = {
    f"{_CONFLUENT}.{package}{name}{kind}": f"penstock.client.serdes.{module}:{name}{kind}"
    for package, name, module in (
        ("", "KafkaAvro", "avro"),
        ("json.", "KafkaJsonSchema", "json_schema"),
        ("protobuf.", "KafkaProtobuf", "protobuf"),
    )
    for kind in ("Serializer", "Deserializer")
}
"""Confluent's Java names for the classes of `penstock.client.serdes`, imported when one is named."""


def of_function(function: Callable[[Any], Any]) -> _OfFunction:
    """A serializer or deserializer that calls a plain function of the value."""
    return _OfFunction(function)
