"""Keys and values made readable by what wrote them: the registry's schemas, and the records that the platform
keeps in its internal topics.

Blocking, because a schema may have to be fetched: the backend calls it in threads. What cannot be decoded is
left to `decoding`, with a note that says why.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from penstock.client.paging import Message
from penstock.client.schema_registry import RegistryError, SchemaRegistry
from penstock.console.internal_records import INTERNAL
from penstock.schemas.codecs import Codec, codec_for
from penstock.schemas.errors import SchemaError
from penstock.schemas.formats import parse
from penstock.schemas.wire_format import HEADER_BYTES, MAGIC, read_header

CODECS_MAX: Final = 500
NAMES: Final = {"AVRO": "Avro", "JSON": "JSON Schema", "PROTOBUF": "Protobuf"}


@dataclass(frozen=True, slots=True)
class Decoded:
    value: Any
    """As JSON would have it."""
    note: str
    """What decoded it, such as `Avro, schema 7`; or why nothing could."""
    failed: bool = False

    @property
    def text(self) -> str:
        return json.dumps(self.value, ensure_ascii=False, default=str)


class RecordDecoder:
    """Thread-safe: two threads may at worst fetch the same schema twice."""

    def __init__(self, registry: SchemaRegistry | None) -> None:
        self._registry = registry
        self._codecs: dict[int, tuple[Codec, str] | str] = {}

    def decoded(self, message: Message, of_key: bool) -> Decoded | None:
        """None when the bytes have no schema and the topic is not internal."""
        data = message.key if of_key else message.value
        if data is None:
            return None
        internal = INTERNAL.get(message.topic)
        if internal is not None:
            return _internal(internal, message, of_key)
        if len(data) < HEADER_BYTES or data[0] != MAGIC or self._registry is None:
            return None
        return self._by_schema(data)

    def parsed(self, message: Message, of_key: bool) -> Any:
        """For a filter: what is inside, or None."""
        found = self.decoded(message, of_key)
        if found is not None:
            return None if found.failed else found.value
        data = message.key if of_key else message.value
        try:
            return msgspec.json.decode(data) if data else None
        except (msgspec.DecodeError, RecursionError):
            return None

    def _by_schema(self, data: bytes) -> Decoded:
        schema_id = read_header(data)
        known = self._codec(schema_id)
        if isinstance(known, str):
            return Decoded(None, known, failed=True)
        codec, name = known
        try:
            return Decoded(codec.decode(data[HEADER_BYTES:]), f"{name}, schema {schema_id}")
        except SchemaError as error:
            return Decoded(None, f"not {name} of schema {schema_id}: {error}", failed=True)

    def _codec(self, schema_id: int) -> tuple[Codec, str] | str:
        if schema_id not in self._codecs:
            if len(self._codecs) >= CODECS_MAX:
                self._codecs.clear()
            assert self._registry is not None
            try:
                schema = self._registry.by_id(schema_id)
                parsed = parse(schema.schema_type, schema.text, dict(schema.references), strict=False)
                self._codecs[schema_id] = codec_for(parsed), NAMES.get(schema.schema_type, schema.schema_type)
            except RegistryError as error:
                return f"looks like schema {schema_id}, which cannot be had: {error}"
            except SchemaError as error:
                return f"schema {schema_id} cannot be read: {error}"
        return self._codecs[schema_id]


def _internal(decode: Callable[[Message, bool], Any], message: Message, of_key: bool) -> Decoded | None:
    try:
        value = decode(message, of_key)
    except Exception as error:  # a newer broker's record: whatever a decoder raises, the bytes are shown
        return Decoded(
            None, f"a record that this console does not know ({type(error).__name__})", failed=True
        )
    return None if value is None else Decoded(value, "internal record")
