"""The schema that a record is written with, and its id: registered, looked up, or the latest version.

Shared by the three formats; `reading` is the way back. What a subject and a schema gave once is kept: records
do not ask the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from penstock.client.answers_kept import AnswersKept
from penstock.client.api.exceptions import ConfigException, KafkaException, SerializationException
from penstock.client.schema_registry import RegistryError, Schema, SchemaRegistry
from penstock.client.serdes.rules.fields import Walk
from penstock.client.serdes.rules.model import ENCODING, Contract, Mode, contract_of
from penstock.client.serdes.rules.running import Rules, rules_of
from penstock.client.serdes.settings import SerdeSettings, serde_settings
from penstock.schemas.errors import SchemaError
from penstock.schemas.formats import parse
from penstock.schemas.schema import ParsedSchema
from penstock.schemas.wire_format import write_header

T = TypeVar("T")
KEPT: Final = 1000


@dataclass(frozen=True, slots=True)
class _Ready(Generic[T]):
    """All that writing under one subject needs."""

    prefix: bytes
    form: T
    contract: Contract
    walk: Walk | None
    """None without rules."""


class Serde:
    """What a serializer and a deserializer share: settings, given by hand or by the client that owns it."""

    schema_type: str

    def __init__(self, registry: SchemaRegistry | None, settings: dict[str, Any] | None) -> None:
        self._given_registry = registry
        self._settings: SerdeSettings | None = None
        self.rules = Rules()
        if settings is not None:
            self.configure(settings, False)

    def configure(self, settings: dict[str, Any], is_key: bool) -> None:
        self._settings = serde_settings(settings, is_key, self._given_registry)
        self.rules = rules_of(settings)

    def close(self) -> None:
        self.rules.close()

    def _walk(self, schema: Schema) -> Walk:
        """How rules on fields reach them, in values of this schema."""
        raise NotImplementedError

    @property
    def settings(self) -> SerdeSettings:
        if self._settings is None:
            raise ConfigException(
                f"{type(self).__name__} is not configured. Give it to a client as a serializer, or call "
                'configure({"schema.registry.url": …}, is_key).'
            )
        return self._settings


class SchemaSerializer(Serde, Generic[T]):
    """`T` is the format's own form of a schema, made once for each."""

    def __init__(self, registry: SchemaRegistry | None, settings: dict[str, Any] | None) -> None:
        self._written = AnswersKept(KEPT)
        self._names: dict[Schema, str | None] = {}
        super().__init__(registry, settings)

    def serialize(self, topic: str, data: Any) -> bytes | None:
        if data is None:
            return None
        with translated(f"serialize a record for topic {topic!r}"):
            own = self._schema_of(data)
            subject = self.settings.strategy(topic, self.settings.is_key, self._record_of(own, data))
            ready: _Ready[T] = self._written.get((subject, own), lambda: self._prepared(subject, own))
            value = self._value(ready.form, data)
            place = (subject, topic, self.settings.is_key)
            if ready.walk is not None:
                value = self.rules.run(Mode.WRITE, ready.contract, value, ready.walk, place)
            payload = self._encode(ready.form, value)
            if ready.contract.has_rules(Mode.WRITE, ENCODING):
                payload = self.rules.run(Mode.WRITE, ready.contract, payload, None, place, ENCODING)
            return ready.prefix + payload

    def _schema_of(self, data: Any) -> Schema | None:
        """The schema that comes with the serializer or with the value; None where the registry has it."""
        raise NotImplementedError

    def _record_name(self, schema: Schema) -> str | None:
        raise NotImplementedError

    def _form(self, schema: Schema) -> T:
        raise NotImplementedError

    def _value(self, form: T, data: Any) -> Any:
        """A value as rules and `_encode` take it."""
        return data

    def _encode(self, form: T, value: Any) -> bytes:
        raise NotImplementedError

    def _record_of(self, own: Schema | None, data: Any) -> str | None:
        if own is None:
            return None
        if own not in self._names:
            self._names[own] = self._record_name(own)
        return self._names[own]

    def _prepared(self, subject: str, own: Schema | None) -> _Ready[T]:
        schema_id, schema = self._chosen(subject, own)
        # A schema of the serializer's own says nothing of rules: the registry does.
        told = self.settings.registry.by_id(schema_id) if schema is own else schema
        contract = contract_of(told.metadata, told.rule_set)
        walk = self._walk(schema) if contract.has_rules(Mode.WRITE) else None
        return _Ready(write_header(schema_id), self._form(schema), contract, walk)

    def _chosen(self, subject: str, own: Schema | None) -> tuple[int, Schema]:
        registry, settings = self.settings.registry, self.settings
        if settings.use_schema_id is not None:
            return settings.use_schema_id, self._fit(
                registry.by_id(settings.use_schema_id), own, f"schema {settings.use_schema_id}"
            )
        if settings.use_metadata:
            found = registry.latest_with(subject, settings.use_metadata)
            what = f"the latest version of {subject!r} with {dict(settings.use_metadata)}"
            return found.schema_id, self._fit(found.schema, own, what)
        if settings.use_latest or own is None:
            if own is None and not settings.use_latest:
                raise SerializationException(
                    f"{type(self).__name__} has no schema. Give it one, or set use.latest.version=true and "
                    "auto.register.schemas=false to use the latest of the subject."
                )
            found = registry.latest(subject)
            return found.schema_id, self._fit(found.schema, own, f"the latest version of {subject!r}")
        if settings.auto_register:
            return registry.register(subject, own, normalize=settings.normalize), own
        return registry.look_up(subject, own, normalize=settings.normalize).schema_id, own

    def _fit(self, found: Schema, own: Schema | None, what: str) -> Schema:
        """The registry's schema, which must be able to read what the serializer's own would write."""
        if found.schema_type != self.schema_type:
            raise SerializationException(f"{what} is {found.schema_type}, not {self.schema_type}.")
        if own is not None and self.settings.latest_strict:
            reasons = parsed(found).differences(parsed(own))
            if reasons:
                raise SerializationException(
                    f"Incompatible schema: {what} cannot read what this serializer's schema writes: "
                    f"{reasons[0]}. Set latest.compatibility.strict=false to write it nevertheless."
                )
        return found


def parsed(schema: Schema) -> ParsedSchema:
    return parse(schema.schema_type, schema.text, dict(schema.references), strict=False)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """What the registry and the formats raise leaves as Java's `SerializationException`."""
    try:
        yield
    except (RegistryError, SchemaError) as error:
        raise SerializationException(f"Could not {doing}: {error}") from error
    except KafkaException:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, EOFError, IndexError) as error:
        raise SerializationException(f"Could not {doing}: {type(error).__name__}: {error}") from error


def as_dict(value: Any, to_dict: Callable[[Any], Any] | None) -> Any:
    """A value as its format writes it: by the user's function, or a dataclass by its fields."""
    if to_dict is not None:
        return to_dict(value)
    from dataclasses import asdict, is_dataclass

    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
