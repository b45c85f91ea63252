"""Keys and values made readable by what wrote them: the registry's schemas, and the records that the platform
keeps in its internal topics.

Blocking, because a schema may have to be fetched: the backend calls it in threads. What cannot be decoded is
left to `decoding`, with a note that says why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from penstock.client.errors import InvalidValue
from penstock.client.paging import Message
from penstock.client.schema_registry import RegistryError, Schema, SchemaRegistry
from penstock.console.internal_records import INTERNAL
from penstock.schemas.codecs import Codec, codec_for
from penstock.schemas.errors import SchemaError
from penstock.schemas.formats import parse
from penstock.schemas.wire_format import HEADER_BYTES, MAGIC, read_header, write_header

CODECS_MAX: Final = 500
LEARNT_MAX: Final = 20
"""Schemas fetched for one page: bytes that only look like a schema's id must not keep it waiting."""
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

    def decoded_known(self, message: Message, of_key: bool) -> Decoded | None:
        """The same without a question to the registry: by schemas that were asked for before."""
        data = message.key if of_key else message.value
        internal = message.topic in INTERNAL
        framed = data is not None and len(data) >= HEADER_BYTES and data[0] == MAGIC
        known = framed and data is not None and read_header(data) in self._codecs
        return self.decoded(message, of_key) if internal or known else None

    def learn(self, messages: Iterable[Message]) -> None:
        """Fetches the schemas of these, so that they are known."""
        if self._registry is None:
            return
        parts = (part for message in messages for part in (message.key, message.value))
        framed = {
            read_header(part) for part in parts if part and part[0] == MAGIC and len(part) >= HEADER_BYTES
        }
        for schema_id in sorted(framed - self._codecs.keys())[:LEARNT_MAX]:
            self._codec(schema_id)

    def encoded(self, subject: str, text: str) -> bytes:
        """JSON as bytes of the subject's latest schema, with its id in front."""
        if self._registry is None:
            raise InvalidValue("There is no registry. Start the console with --registry-url.")
        try:
            latest = self._registry.latest(subject)
            value = json.loads(text)
            codec, _ = self._made(latest.schema)
            return write_header(latest.schema_id) + codec.encode(value)
        except (RegistryError, SchemaError) as error:
            raise InvalidValue(f"The value does not fit {subject}: {error}") from error
        except ValueError as error:
            raise InvalidValue(f"The value is not JSON: {error}.") from error

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
                self._codecs[schema_id] = self._made(schema)
            except RegistryError as error:
                return f"looks like schema {schema_id}, which cannot be had: {error}"
            except SchemaError as error:
                return f"schema {schema_id} cannot be read: {error}"
        return self._codecs[schema_id]

    @staticmethod
    def _made(schema: Schema) -> tuple[Codec, str]:
        parsed = parse(schema.schema_type, schema.text, dict(schema.references), strict=False)
        return codec_for(parsed), NAMES.get(schema.schema_type, schema.schema_type)


def _internal(decode: Callable[[Message, bool], Any], message: Message, of_key: bool) -> Decoded | None:
    try:
        value = decode(message, of_key)
    except Exception as error:  # a newer broker's record: whatever a decoder raises, the bytes are shown
        return Decoded(
            None, f"a record that this console does not know ({type(error).__name__})", failed=True
        )
    return None if value is None else Decoded(value, "internal record")
