"""Serdes whose schemas live in a Schema Registry, in the form of Confluent's serialisers: a zero byte, the id
of the schema, the value. Records of other clients can be read, and they can read ours.

Writing registers the schema under `<topic>-key` or `<topic>-value`, unless `auto_register=False`: then it
must be there. Reading takes the schema that the record names. Each process asks the registry once for each
schema; a serde itself is data, and travels with the topology.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

from penstock.client.schema_registry import Schema, SchemaRegistry
from penstock.schemas.wire_format import (
    HEADER_BYTES,
    read_header,
    read_indexes,
    write_header,
    write_indexes,
)

KEPT: Final = 1000


@lru_cache(maxsize=16)
def _registry(url: str) -> SchemaRegistry:
    return SchemaRegistry(url)


@lru_cache(maxsize=KEPT)
def _registered(url: str, subject: str, kind: str, text: str, register: bool) -> int:
    """The id under which a schema is written; found out once for each subject."""
    registry = _registry(url)
    if register:
        return registry.register(subject, Schema(kind, text))
    body = {"schema": text, "schemaType": kind}
    found = registry.ask("POST", f"/subjects/{quote(subject, safe='')}", f"the schema in {subject!r}", body)
    return int(found["id"])


@dataclass(frozen=True)
class _InRegistry:
    """`url` is the registry's, such as http://localhost:8081. `schema` is text; a serde that only reads needs
    none.
    """

    url: str
    schema: str = ""
    is_key: bool = False
    auto_register: bool = True

    def _header(self, topic: str, kind: str, text: str) -> bytes:
        if not text:
            raise ValueError("a schema is needed to write: give schema=")
        subject = f"{topic}-{'key' if self.is_key else 'value'}"
        return write_header(_registered(self.url, subject, kind, text, self.auto_register))


@dataclass(frozen=True)
class RegistryAvroSerde(_InRegistry):
    """Avro; values are dictionaries and the like, as fastavro has them. With a schema of its own a reader
    sees older and newer values as that one has them.
    """

    def serialize(self, topic: str, value: Any) -> bytes:
        import fastavro  # where it is used: not every topology has Avro

        header = self._header(topic, "AVRO", self.schema)
        out = io.BytesIO(header)
        out.seek(HEADER_BYTES)
        fastavro.schemaless_writer(out, _own_avro(self.schema), value)
        return out.getvalue()

    def deserialize(self, topic: str, data: bytes) -> Any:
        import fastavro

        written = _avro(self.url, read_header(data))
        wanted = _own_avro(self.schema) if self.schema else None
        return fastavro.schemaless_reader(io.BytesIO(data[HEADER_BYTES:]), written, wanted)


@dataclass(frozen=True)
class RegistryJsonSerde(_InRegistry):
    """JSON with a JSON Schema; what is written is not checked against it."""

    def serialize(self, topic: str, value: Any) -> bytes:
        text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        return self._header(topic, "JSON", self.schema) + text.encode()

    def deserialize(self, topic: str, data: bytes) -> Any:
        read_header(data)
        return json.loads(data[HEADER_BYTES:])


@dataclass(frozen=True)
class RegistryProtobufSerde(_InRegistry):
    """Messages of one generated class; `schema` is its .proto text."""

    message: type[Any] | None = None

    def __post_init__(self) -> None:
        if self.message is None:
            raise ValueError("Protobuf needs the generated class: give message=")

    def serialize(self, topic: str, value: Any) -> bytes:
        from penstock.schemas.protobuf.messages import path_of

        header = self._header(topic, "PROTOBUF", self.schema)
        payload: bytes = value.SerializeToString(deterministic=True)
        return header + write_indexes(path_of(value.DESCRIPTOR)) + payload

    def deserialize(self, topic: str, data: bytes) -> Any:
        assert self.message is not None
        read_header(data)
        _, begins = read_indexes(data, HEADER_BYTES)
        message = self.message()
        message.ParseFromString(data[begins:])
        return message


@lru_cache(maxsize=KEPT)
def _own_avro(text: str) -> Any:
    import fastavro

    return fastavro.parse_schema(json.loads(text))


@lru_cache(maxsize=KEPT)
def _avro(url: str, schema_id: int) -> Any:
    import fastavro

    found = _registry(url).by_id(schema_id)
    named: dict[str, Any] = {}
    for _, text in found.references:
        fastavro.parse_schema(json.loads(text), named_schemas=named)
    return fastavro.parse_schema(json.loads(found.text), named_schemas=named)
