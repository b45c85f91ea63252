"""Keys and values by a registered schema: which one a request means, and the bytes that its records become.

The bytes are Confluent's wire format: a zero, the id in four bytes, and what the schema makes of the value.
Blocking, because the registry is asked. Called by the produce routes and by those that read records, in
threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import msgspec

from penstock.client.answers_kept import AnswersKept
from penstock.client.schema_registry import NotRegistered, RegistryError, Schema, SchemaRegistry, Version
from penstock.rest.config import SCHEMAS_CACHED
from penstock.rest.errors import INVALID_SCHEMA, SERIALISATION_FAILED, RestError, bad_request, from_registry
from penstock.rest.formats import FORMATS_BY_SCHEMA_TYPE, SCHEMA_TYPES, Format
from penstock.schemas.wire_format import HEADER_BYTES, read_header, write_header

T = TypeVar("T")


class Codec(Protocol):
    """One schema: JSON to payload and back. `ValueError` says why a value does not fit."""

    def encode(self, text: bytes) -> bytes: ...

    def decode(self, payload: bytes) -> Any: ...

    @property
    def name(self) -> str:
        """The full name of the record, for subjects that are named after it."""


class MakeCodec(Protocol):
    def __call__(self, schema: Schema) -> Codec: ...


@dataclass(frozen=True, slots=True)
class Registered:
    """A schema ready for use."""

    format: Format
    subject: str
    schema_id: int
    version: int
    codec: Codec

    def encode(self, data: msgspec.Raw) -> bytes:
        try:
            payload = self.codec.encode(bytes(data))
        except (ValueError, RecursionError) as error:
            raise bad_request(
                f"Bad Request: the value does not fit schema {self.schema_id}: {error}"
            ) from error
        return write_header(self.schema_id) + payload


class SchemaRecords:
    def __init__(self, registry: SchemaRegistry | None, make_codec: MakeCodec) -> None:
        self._registry = registry
        self._make_codec = make_codec
        self._codecs = AnswersKept(SCHEMAS_CACHED)

    def by_text(self, form: Format, subject: str, text: str) -> Registered:
        """The schema that the request spells out; it is registered when the subject does not have it."""
        schema = Schema(SCHEMA_TYPES[form], text)
        self._codec(schema)  # what cannot be read is refused before anybody registers it

        def find(registry: SchemaRegistry) -> Version:
            try:
                return registry.look_up(subject, schema)
            except NotRegistered:
                registry.register(subject, schema)
                return registry.look_up(subject, schema)

        return self._registered(self._ask(find))

    def by_id(self, subject: str, schema_id: int, form: Format | None = None) -> Registered:
        schema = self._by_id(schema_id)
        found = self._ask(lambda registry: registry.look_up(subject, schema))
        return self._registered(Version(subject, found.version, schema_id, schema), form)

    def by_version(self, subject: str, version: int | None) -> Registered:
        """One version, or the latest one."""
        return self._registered(
            self._ask(lambda r: r.latest(subject) if version is None else r.version(subject, version))
        )

    def name_of(self, form: Format, text: str) -> str:
        return self._codec(Schema(SCHEMA_TYPES[form], text)).name

    def name_by_id(self, schema_id: int) -> str:
        return self._codec(self._by_id(schema_id)).name

    def decode(self, form: Format, data: bytes | None) -> Any:
        """A record's bytes as JSON. `ValueError` when they are not what they should be."""
        if data is None:
            return None
        schema_id = read_header(data)
        schema = self._by_id(schema_id)
        if schema.schema_type != SCHEMA_TYPES[form]:
            raise ValueError(f"its schema {schema_id} is of type {schema.schema_type}")
        return self._codec(schema).decode(data[HEADER_BYTES:])

    def _registered(self, found: Version, form: Format | None = None) -> Registered:
        actual = FORMATS_BY_SCHEMA_TYPE.get(found.schema.schema_type)
        if actual is None or (form is not None and actual is not form):
            raise RestError(
                INVALID_SCHEMA,
                f"Invalid schema: schema {found.schema_id} is of type {found.schema.schema_type}, "
                f"not {SCHEMA_TYPES[form] if form else 'one that can be embedded'}.",
            )
        return Registered(actual, found.subject, found.schema_id, found.version, self._codec(found.schema))

    def _by_id(self, schema_id: int) -> Schema:
        return self._ask(lambda registry: registry.by_id(schema_id))

    def _ask(self, question: Callable[[SchemaRegistry], T]) -> T:
        if self._registry is None:
            raise RestError(
                SERIALISATION_FAILED,
                "Error serializing message. This proxy knows no Schema Registry: set schema.registry.url.",
            )
        try:
            return question(self._registry)
        except RegistryError as error:
            raise from_registry(error) from error

    def _codec(self, schema: Schema) -> Codec:
        def make() -> Codec:
            try:
                return self._make_codec(schema)
            except (ValueError, RecursionError) as error:
                raise RestError(INVALID_SCHEMA, f"Invalid schema: {error}") from error

        return self._codecs.get(schema, make)
