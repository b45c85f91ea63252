"""The way back: the schema that a value names, the one that it is read as, migrations between, and rules.

Shared by the three formats. What a schema's id and a topic gave once is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from penstock.client.answers_kept import AnswersKept
from penstock.client.api.exceptions import SerializationException
from penstock.client.schema_registry import Schema, SchemaRegistry, Version
from penstock.client.serdes.registering import KEPT, Serde, translated
from penstock.client.serdes.rules.fields import Walk
from penstock.client.serdes.rules.model import ENCODING, MIGRATION, Contract, Mode, contract_of
from penstock.schemas.wire_format import HEADER_BYTES, read_header

T = TypeVar("T")
VERSIONS_MAX = 1000
"""Versions between a writer and a reader whose migration rules are looked at."""


@dataclass(frozen=True, slots=True)
class _Ready(Generic[T]):
    """All that reading values of one schema needs."""

    form: T
    subject: str
    written: Contract
    """Of the schema that values were written with: how their bytes are encoded."""
    contract: Contract
    """Of the schema that they are read as."""
    walk: Walk | None
    migrations: tuple[Mode, list[Contract]] | None


class SchemaDeserializer(Serde, Generic[T]):
    """`T` is the format's own form of a schema and of the one that it is read as."""

    def __init__(self, registry: SchemaRegistry | None, settings: dict[str, Any] | None) -> None:
        self._read = AnswersKept(KEPT)
        super().__init__(registry, settings)

    def deserialize(self, topic: str, data: bytes) -> Any:
        with translated(f"deserialize a record of topic {topic!r}"):
            schema_id = read_header(data)
            ready: _Ready[T] = self._read.get((schema_id, topic), lambda: self._prepared(schema_id, topic))
            place = (ready.subject, topic, self.settings.is_key)
            payload = data[HEADER_BYTES:]
            if ready.written.has_rules(Mode.READ, ENCODING):
                payload = self.rules.run(Mode.READ, ready.written, payload, None, place, ENCODING)
            value = self._decode(ready.form, payload)
            if ready.migrations is not None:
                mode, contracts = ready.migrations
                value = self.rules.migrate(mode, contracts, value, place)
            if ready.walk is not None:
                value = self.rules.run(Mode.READ, ready.contract, value, ready.walk, place)
            return self._result(ready.form, value)

    def _form(self, schema: Schema, reader: Schema | None) -> T:
        """`reader` is the schema that values are read as; None for that of the writer."""
        raise NotImplementedError

    def _decode(self, form: T, payload: bytes) -> Any:
        """A value as rules take it."""
        raise NotImplementedError

    def _result(self, form: T, value: Any) -> Any:
        """What the user gets for it."""
        return value

    def _record_name(self, schema: Schema) -> str | None:
        raise NotImplementedError

    def _prepared(self, schema_id: int, topic: str) -> _Ready[T]:
        writer = self.settings.registry.by_id(schema_id)
        if writer.schema_type != self.schema_type:
            raise SerializationException(
                f"schema {schema_id} is {writer.schema_type}, and {type(self).__name__} reads "
                f"{self.schema_type}."
            )
        subject = self._subject(topic, writer)
        reader = self._wanted(subject)
        written = contract_of(writer.metadata, writer.rule_set)
        shown = writer if reader is None else reader.schema
        contract = contract_of(shown.metadata, shown.rule_set)
        migrations = None if reader is None else self._migrations(subject, schema_id, reader)
        read_as = None if migrations is not None or reader is None else reader.schema
        walk = self._walk(shown) if contract.has_rules(Mode.READ) else None
        return _Ready(self._form(writer, read_as), subject, written, contract, walk, migrations)

    def _subject(self, topic: str, writer: Schema) -> str:
        """A schema without a name is under no subject that is made of names; rules are told the topic's."""
        try:
            return self.settings.strategy(topic, self.settings.is_key, self._record_name(writer))
        except SerializationException:
            return f"{topic}-{'key' if self.settings.is_key else 'value'}"

    def _wanted(self, subject: str) -> Version | None:
        settings = self.settings
        if settings.use_metadata:
            return settings.registry.latest_with(subject, settings.use_metadata)
        return settings.registry.latest(subject) if settings.use_latest else None

    def _migrations(
        self, subject: str, schema_id: int, reader: Version
    ) -> tuple[Mode, list[Contract]] | None:
        """Of the versions between both, in the order in which they run; None where there are none."""
        number = self.settings.registry.number_of(subject, schema_id)
        if number is None or number == reader.version:
            return None
        mode = Mode.UPGRADE if number < reader.version else Mode.DOWNGRADE
        low, high = sorted((number, reader.version))
        if high - low > VERSIONS_MAX:
            raise SerializationException(
                f"There are more than {VERSIONS_MAX} versions between {low} and {high}."
            )
        contracts = [
            contract_of(None, version.schema.rule_set)
            for version in self._versions(subject, range(low + 1, high + 1))
        ]
        found = [each for each in contracts if each.has_rules(mode, MIGRATION)]
        return (mode, found[::-1] if mode is Mode.DOWNGRADE else found) if found else None

    def _versions(self, subject: str, numbers: range) -> list[Version]:
        """Those that are there: others were deleted, and their rules with them."""
        from penstock.client.schema_registry import NotRegistered

        found = []
        for number in numbers:
            try:
                found.append(self.settings.registry.version(subject, number))
            except NotRegistered:
                continue
        return found
