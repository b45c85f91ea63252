"""Converters by their class names, in full or short, as a worker's or a connector's configuration names
them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from penstock.connect.converters.converter import Converter, HeaderConverter, SchemaAndValue
from penstock.connect.converters.headers import ConvertedHeader, SimpleHeaderConverter
from penstock.connect.converters.json_converter import JsonConverter
from penstock.connect.converters.plain import (
    BooleanConverter,
    ByteArrayConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
    StringConverter,
)
from penstock.connect.data.schema import Schema
from penstock.connect.errors import ConfigError

_SIMPLE: Final = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
_PLAIN: Final[dict[str, Callable[[Mapping[str, Any]], Any]]] = {
    "org.apache.kafka.connect.converters.BooleanConverter": BooleanConverter,
    "org.apache.kafka.connect.converters.ByteArrayConverter": ByteArrayConverter,
    "org.apache.kafka.connect.converters.DoubleConverter": DoubleConverter,
    "org.apache.kafka.connect.converters.FloatConverter": FloatConverter,
    "org.apache.kafka.connect.converters.IntegerConverter": IntegerConverter,
    "org.apache.kafka.connect.converters.LongConverter": LongConverter,
    "org.apache.kafka.connect.converters.ShortConverter": ShortConverter,
    "org.apache.kafka.connect.json.JsonConverter": JsonConverter,
    "org.apache.kafka.connect.storage.StringConverter": StringConverter,
}
AVRO: Final = "io.confluent.connect.avro.AvroConverter"
JSON_SCHEMA: Final = "io.confluent.connect.json.JsonSchemaConverter"
PROTOBUF: Final = "io.confluent.connect.protobuf.ProtobufConverter"
CONVERTERS: Final = tuple(sorted((*_PLAIN, AVRO, JSON_SCHEMA, PROTOBUF)))
HEADER_CONVERTERS: Final = tuple(sorted((*_PLAIN, _SIMPLE)))


class JsonBytes:
    """JsonConverter, which needs no topic, as a converter."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.json = JsonConverter(settings)

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.json.from_connect(schema, value)

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue:
        return self.json.to_connect(data)


def full_name(name: str, known: tuple[str, ...] = CONVERTERS) -> str | None:
    """The class that a name means: in full, without its package, or without `Converter`."""
    for each in known:
        short = each.rpartition(".")[2]
        if name in (each, short, short.removesuffix("Converter"), short.removesuffix("HeaderConverter")):
            return each
    return None


def converter(setting: str, name: str, settings: Mapping[str, Any], *, is_key: bool) -> Converter:
    found = full_name(name)
    if found is None:
        raise ConfigError(setting, name, f"Class {name} could not be found.")
    if found in (AVRO, JSON_SCHEMA, PROTOBUF):
        from penstock.connect.converters import registry

        if found == AVRO:
            return registry.AvroConverter(settings, is_key=is_key)
        kind = registry.JsonSchemaConverter if found == JSON_SCHEMA else registry.ProtobufConverter
        return kind(settings, is_key=is_key)
    made: Converter = (JsonBytes if found.endswith(".JsonConverter") else _PLAIN[found])(settings)
    return made


def header_converter(setting: str, name: str, settings: Mapping[str, Any]) -> HeaderConverter:
    found = full_name(name, HEADER_CONVERTERS)
    if found is None:
        raise ConfigError(setting, name, f"Class {name} could not be found.")
    if found == _SIMPLE:
        return SimpleHeaderConverter(settings)
    return ConvertedHeader(converter(setting, found, settings, is_key=False))
