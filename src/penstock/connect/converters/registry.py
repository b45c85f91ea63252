"""Converters with schemas in a Schema Registry: Avro, JSON Schema and Protobuf, with Confluent's settings.

`schema.registry.url`, `auto.register.schemas`, `use.latest.version`, `value.subject.name.strategy` (topic
names only). A schema is registered or looked up once and remembered.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any, Final

import fastavro

from penstock.client.schema_registry import RegistryError, SchemaRegistry
from penstock.client.schema_registry import Schema as RegistrySchema
from penstock.connect.api.guards import Forbidden, allowed_address
from penstock.connect.converters import avro_data, json_schema_data, protobuf_schema, protobuf_values
from penstock.connect.converters.converter import SchemaAndValue
from penstock.connect.converters.json_converter import JsonConverter
from penstock.connect.converters.json_text import json_text
from penstock.connect.data.inference import infer
from penstock.connect.data.schema import Schema, Type, struct_schema
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConfigError, DataError
from penstock.connect.transforms.settings import MissingSetting, Settings
from penstock.schemas.protobuf.messages import describe, message_at
from penstock.schemas.wire_format import read_header, read_indexes, write_header, write_indexes

KEPT: Final = 1000
_HEADER_BYTES: Final = 5
_KNOWN: Final = frozenset({
    "schema.registry.url", "auto.register.schemas", "use.latest.version", "enhanced.avro.schema.support",
    "schemas.enable", "optional.for.nullables", "connect.meta.data", "schemas.cache.config",
    "key.subject.name.strategy", "value.subject.name.strategy",
})  # fmt: skip


class _RegistryConverter:
    """What the formats share: ids, subjects, and what is remembered."""

    schema_type: str

    def __init__(self, settings: Mapping[str, Any], *, is_key: bool) -> None:
        for name in settings:
            if name not in _KNOWN:
                raise ConfigError(name, settings[name], f"{type(self).__name__} has no such setting here")
        url = settings.get("schema.registry.url")
        if url is None:
            raise MissingSetting("schema.registry.url")
        for side in ("key", "value"):
            strategy = str(settings.get(f"{side}.subject.name.strategy", "TopicNameStrategy"))
            if not strategy.endswith("TopicNameStrategy") or strategy.endswith("RecordNameStrategy"):
                raise ConfigError(f"{side}.subject.name.strategy", strategy, "only TopicNameStrategy here")
        try:
            for each in str(url).split(","):
                allowed_address(each.strip())
            self._registry = SchemaRegistry(str(url))
        except (ValueError, Forbidden) as error:
            raise ConfigError("schema.registry.url", url, str(error)) from None
        self._suffix = "-key" if is_key else "-value"
        given = Settings(settings)
        self._registers = given.flag("auto.register.schemas", True)
        self._latest = given.flag("use.latest.version", False)
        self._ids: dict[tuple[str, str], int] = {}
        self._read: dict[int, tuple[Any, Schema]] = {}

    def _id(self, topic: str, text: str) -> int:
        subject = topic + self._suffix
        found = self._ids.get((subject, text))
        if found is None:
            try:
                found = self._ask_id(subject, RegistrySchema(self.schema_type, text))
            except RegistryError as error:
                raise DataError(f"Failed to find a schema for subject {subject}: {error}") from error
            if len(self._ids) >= KEPT:
                self._ids.clear()
            self._ids[subject, text] = found
        return found

    def _ask_id(self, subject: str, schema: RegistrySchema) -> int:
        if self._latest:
            return self._registry.latest(subject).schema_id
        if self._registers:
            return self._registry.register(subject, schema)
        return self._registry.look_up(subject, schema).schema_id

    def _schema(self, data: bytes) -> tuple[Any, Schema]:
        try:
            number = read_header(data)
            if number not in self._read:
                if len(self._read) >= KEPT:
                    self._read.clear()
                self._read[number] = self._parsed(self._registry.by_id(number))
        except (RegistryError, ValueError) as error:
            raise DataError(f"Failed to deserialize: {error}") from error
        return self._read[number]

    def _parsed(self, found: RegistrySchema) -> tuple[Any, Schema]:
        raise NotImplementedError


class AvroConverter(_RegistryConverter):
    schema_type = "AVRO"

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        schema = schema or infer(value)
        if schema is None:
            raise DataError("A value without a schema has no form in Avro: its type cannot be inferred")
        shape = avro_data.avro_schema(schema)
        out = io.BytesIO(write_header(self._id(topic, json.dumps(shape))))
        out.seek(0, io.SEEK_END)
        try:
            fastavro.schemaless_writer(out, _parse(shape), avro_data.to_avro(schema, value))
        except (ValueError, TypeError, AttributeError) as error:
            raise DataError(f"Failed to serialize Avro data from topic {topic}: {error}") from error
        return out.getvalue()

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(None, None)
        parsed, schema = self._schema(data)
        try:
            payload = io.BytesIO(data[_HEADER_BYTES:])
            value = fastavro.schemaless_reader(payload, parsed, None, return_record_name=True,
                                               return_record_name_override=True)  # fmt: skip
        except Exception as error:  # fastavro raises whatever the bytes lead to
            raise DataError(f"Failed to deserialize data for topic {topic} to Avro: {error}") from error
        return SchemaAndValue(schema, avro_data.from_avro(schema, value))

    def _parsed(self, found: RegistrySchema) -> tuple[Any, Schema]:
        shape = json.loads(found.text)
        known = {avro_data.full_name(each): each for _, text in found.references
                 if isinstance(each := json.loads(text), dict)}  # fmt: skip
        if known:
            raise DataError("Avro schemas with references are not read by this converter")
        return _parse(shape), avro_data.connect_schema(shape)


class JsonSchemaConverter(_RegistryConverter):
    schema_type = "JSON"

    def __init__(self, settings: Mapping[str, Any], *, is_key: bool) -> None:
        super().__init__(settings, is_key=is_key)
        self._json = JsonConverter({"schemas.enable": "false"})

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        schema = schema or infer(value)
        if schema is None:
            raise DataError("A value without a schema has no JSON Schema: its type cannot be inferred")
        header = write_header(self._id(topic, json.dumps(json_schema_data.json_schema(schema))))
        return header + json_text(self._json.value_to_json(schema, value)).encode()

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(None, None)
        _, schema = self._schema(data)
        try:
            node = json.loads(data[_HEADER_BYTES:])
        except ValueError as error:
            raise DataError(f"Failed to deserialize JSON of topic {topic}: {error}") from error
        return SchemaAndValue(schema, self._json.value_from_json(schema, node))

    def _parsed(self, found: RegistrySchema) -> tuple[Any, Schema]:
        return None, json_schema_data.connect_schema(json.loads(found.text))


class ProtobufConverter(_RegistryConverter):
    schema_type = "PROTOBUF"

    def __init__(self, settings: Mapping[str, Any], *, is_key: bool) -> None:
        super().__init__(settings, is_key=is_key)
        self._optional = Settings(settings).flag("optional.for.nullables", False)
        self._written: dict[str, Any] = {}

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        schema = schema or infer(value)
        if schema is None:
            raise DataError("A value without a schema has no form in Protobuf: its type cannot be inferred")
        if not isinstance(value, Struct):
            schema = struct_schema({protobuf_schema.SCALAR: schema})
            value = Struct(schema, {protobuf_schema.SCALAR: value})
        text = protobuf_schema.proto_text(schema, optional_words=self._optional)
        number = self._id(topic, text)
        message = self._class(text)()
        try:
            protobuf_values.fill(message, value)
        except (ValueError, TypeError, AttributeError) as error:
            raise DataError(f"Failed to serialize Protobuf data from topic {topic}: {error}") from error
        return bytes(write_header(number) + write_indexes((0,)) + message.SerializeToString())

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(None, None)
        file, _ = self._schema(data)
        try:
            path, start = read_indexes(data, _HEADER_BYTES)
            descriptor = message_at(file, path)
            message = _message_class(descriptor).FromString(bytes(data[start:]))
        except Exception as error:  # protobuf raises whatever the bytes lead to
            raise DataError(f"Failed to deserialize data for topic {topic} to Protobuf: {error}") from error
        schema = protobuf_schema.connect_schema(descriptor)
        found = protobuf_values.read(message, schema)
        if [field.name for field in schema.fields] == [protobuf_schema.SCALAR]:
            return SchemaAndValue(schema.fields[0].schema, found.get(protobuf_schema.SCALAR))
        return SchemaAndValue(schema, found)

    def _class(self, text: str) -> Any:
        if text not in self._written:
            if len(self._written) >= KEPT:
                self._written.clear()
            self._written[text] = _message_class(message_at(describe(text, {}), (0,)))
        return self._written[text]

    def _parsed(self, found: RegistrySchema) -> tuple[Any, Schema]:
        return describe(found.text, dict(found.references)), Schema(Type.STRUCT)


def _message_class(descriptor: Any) -> Any:
    from google.protobuf.message_factory import GetMessageClass

    return GetMessageClass(descriptor)


def _parse(shape: Any) -> Any:
    return fastavro.parse_schema(_without_logical_types(shape))


def _without_logical_types(shape: Any) -> Any:
    if isinstance(shape, dict):
        return {name: _without_logical_types(part) for name, part in shape.items() if name != "logicalType"}
    return [_without_logical_types(part) for part in shape] if isinstance(shape, list) else shape
