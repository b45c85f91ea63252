"""Lines of JSON as values with a schema, and such values as lines of JSON: what Confluent's console tools do.

A line is Avro's JSON encoding, ProtoJSON or plain JSON. The schema is registered under the subject of the
topic, or named by its id. Settings are Confluent's: `schema.registry.url`, `value.schema`, `value.schema.id`,
`value.schema.file`, `auto.register`, and the same for `key`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from penstock.cli.kafka.formatters import DefaultFormatter
from penstock.cli.kafka.line_reader import Line, LineReader
from penstock.cli.kafka.options import CommandFailed
from penstock.cli.schema_values import SchemaValues, codec_of
from penstock.client.schema_registry import RegistryError, Schema, SchemaRegistry
from penstock.schemas.errors import SchemaError
from penstock.schemas.schema import AVRO, JSON, PROTOBUF
from penstock.schemas.wire_format import write_header

T = TypeVar("T")
DEFAULT_URL: Final = "http://localhost:8081"
_JAVA: Final = "io.confluent.kafka.formatter."
READERS: Final = {
    f"{_JAVA}AvroMessageReader": AVRO,
    f"{_JAVA}json.JsonSchemaMessageReader": JSON,
    f"{_JAVA}protobuf.ProtobufMessageReader": PROTOBUF,
}
FORMATTERS: Final = {
    f"{_JAVA}AvroMessageFormatter": AVRO,
    f"{_JAVA}json.JsonSchemaMessageFormatter": JSON,
    f"{_JAVA}protobuf.ProtobufMessageFormatter": PROTOBUF,
}


class SchemaLineReader(LineReader):
    """As Kafka's, with the value and the key of each line written by a schema."""

    def __init__(self, properties: Mapping[str, str], schema_type: str, topic: str) -> None:
        super().__init__(properties)
        registry = _registry(properties)
        self._value = _writer(properties, "value", schema_type, topic, registry)
        self._key: Callable[[bytes], bytes] | None = None
        if properties.get("parse.key", "").strip().lower() == "true" and "key.serializer" not in properties:
            self._key = _writer(properties, "key", schema_type, topic, registry)

    def read(self, lines: Iterator[str]) -> Iterator[Line]:
        for line in super().read(text for text in lines if text.strip()):
            key = line.key if self._key is None or line.key is None else self._key(line.key)
            yield Line(key, None if line.value is None else self._value(line.value), line.headers)


class SchemaFormatter(DefaultFormatter):
    """As Kafka's default, with values and keys read by the schemas that their ids name."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        super().__init__(properties)
        self._values = SchemaValues(_registry(properties))
        self._with_ids = properties.get("print.schema.ids", "").lower() == "true"
        self._id_separator = properties.get("schema.id.separator", "\t").encode()
        self.value = _Decoding()
        if self.key is None:
            self.key = _Decoding()

    def shown(self, deserializer: Any, topic: str, data: bytes | None) -> bytes:
        if data is None:
            return self.null
        return (
            self._decoded(data)
            if isinstance(deserializer, _Decoding)
            else super().shown(deserializer, topic, data)
        )

    def _decoded(self, data: bytes) -> bytes:
        schema_id, value = _spoken(lambda: self._values.read(data), "Error deserializing message")
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        return text + self._id_separator + str(schema_id).encode() if self._with_ids else text


class _Decoding:
    """Marks a column that is read by its schema."""


def _registry(properties: Mapping[str, str]) -> SchemaRegistry:
    from penstock.client.api.exceptions import ConfigException
    from penstock.client.serdes.settings import registry_of

    try:
        return registry_of({"schema.registry.url": DEFAULT_URL, **properties})
    except ConfigException as error:
        raise CommandFailed(str(error)) from None


def _writer(
    properties: Mapping[str, str], side: str, schema_type: str, topic: str, registry: SchemaRegistry
) -> Callable[[bytes], bytes]:
    """What makes bytes of a line; the schema is looked up once, before the first line is read."""
    subject = f"{topic}-{side}"
    schema_id, schema = _spoken(
        lambda: _chosen(properties, side, schema_type, subject, registry), "Error registering schema"
    )
    codec, prefix = _spoken(lambda: codec_of(schema), "Could not parse schema"), write_header(schema_id)

    def write(line: bytes) -> bytes:
        try:
            value = json.loads(line)
        except ValueError as error:
            raise CommandFailed(
                f"Error deserializing json {line.decode(errors='replace')}: {error}"
            ) from None
        return prefix + _spoken(
            lambda: codec.encode(value), f"Error serializing {line.decode(errors='replace')}"
        )

    return write


def _chosen(
    properties: Mapping[str, str], side: str, schema_type: str, subject: str, registry: SchemaRegistry
) -> tuple[int, Schema]:
    named = properties.get(f"{side}.schema.id")
    if named:
        if not named.isdecimal():
            raise CommandFailed(f"{side}.schema.id is {named!r}, which is no number")
        return int(named), registry.by_id(int(named))
    text = properties.get(f"{side}.schema")
    if text is None and properties.get(f"{side}.schema.file"):
        text = _text_of(properties[f"{side}.schema.file"])
    if text is None and properties.get("use.latest.version", "").lower() == "true":
        found = registry.latest(subject)
        return found.schema_id, found.schema
    if text is None:
        raise CommandFailed(
            f"Must provide one of {side}.schema, {side}.schema.id or {side}.schema.file, for example "
            f'--property {side}.schema=\'{{"type":"string"}}\''
        )
    schema = Schema(schema_type, text)
    if properties.get("auto.register", "true").lower() == "false":
        return registry.look_up(subject, schema).schema_id, schema
    return registry.register(subject, schema), schema


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{path}: {error.strerror}") from None


def _spoken(work: Callable[[], T], what: str) -> T:
    """The result, or a sentence for people."""
    try:
        return work()
    except (RegistryError, SchemaError) as error:
        raise CommandFailed(f"{what}: {error}") from None
