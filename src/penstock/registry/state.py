"""What the records of `_schemas` say. It changes by `replay` alone; every method that asks is quick."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass, field
from typing import Final, TypeVar

import msgspec

from penstock.registry import records
from penstock.registry.records import (
    ConfigValue,
    Key,
    ModeValue,
    NoopValue,
    Record,
    ReferenceValue,
    SchemaValue,
)
from penstock.registry.subjects import DEFAULT, Subject, parse_subject
from penstock.schemas.schema import AVRO

GLOBAL: Final = ""
"""The key of settings that hold for the whole registry."""

Kept = TypeVar("Kept")


class Content(msgspec.Struct, frozen=True):
    """What gives a schema its identity: the same content has the same id, under whatever subject."""

    schema_type: str
    schema: str
    references: tuple[ReferenceValue, ...] = ()
    metadata: bytes = b""
    rule_set: bytes = b""

    @property
    def digest(self) -> bytes:
        return hashlib.md5(msgspec.json.encode(self), usedforsecurity=False).digest()

    @property
    def guid(self) -> str:
        return str(uuid.UUID(bytes=self.digest))


def content_of(value: SchemaValue) -> Content:
    told = [
        msgspec.json.encode(each, order="sorted") if each else b""
        for each in (value.metadata, value.rule_set)
    ]
    return Content(value.schema_type or AVRO, value.schema, value.references, *told)


@dataclass(slots=True)
class Context:
    """One space of ids and subjects."""

    ids: dict[int, SchemaValue] = field(default_factory=dict)
    """A schema by its id; which of its versions it is does not matter."""
    digests: dict[bytes, int] = field(default_factory=dict)
    holders: dict[int, set[tuple[str, int]]] = field(default_factory=dict)
    """Subjects and versions that have an id, deleted ones too."""
    subjects: dict[str, dict[int, SchemaValue]] = field(default_factory=dict)
    max_id: int = 0
    """The highest id ever given, so that the id of a schema that is gone is not given again."""


class State:
    def __init__(self, default_level: str = "BACKWARD") -> None:
        self.default_level = default_level
        self.deletions: dict[str, records.DeleteSubjectValue] = {}
        """The marker that each deleted subject has in the log."""
        self.contexts: dict[str, Context] = {DEFAULT: Context()}
        self.configs: dict[str, ConfigValue] = {}
        self.modes: dict[str, str] = {}
        self.referrers: dict[tuple[str, int], set[tuple[str, int]]] = {}
        """Who refers to a version: full subject and version to the same."""

    # -- asking

    def context(self, name: str) -> Context:
        return self.contexts.get(name) or Context()

    def versions(self, subject: Subject, *, deleted: bool = False) -> list[SchemaValue]:
        """The versions of a subject, oldest first."""
        found = self.context(subject.context).subjects.get(subject.name, {})
        return [found[number] for number in sorted(found) if deleted or not found[number].deleted]

    def find_id(self, context: str, content: Content) -> int | None:
        return self.context(context).digests.get(content.digest)

    def by_guid(self, guid: str) -> list[tuple[str, SchemaValue]]:
        """Contexts and schemas that have a GUID."""
        try:
            digest = uuid.UUID(guid).bytes
        except ValueError:
            return []
        found = ((name, context, context.digests.get(digest)) for name, context in self.contexts.items())
        return [(name, context.ids[each]) for name, context, each in found if each is not None]

    def config(self, subject: Subject | None) -> ConfigValue:
        """What holds for a subject: its own settings, then its context's, then the registry's."""
        found = ConfigValue(compatibility_level=self.default_level)
        for key in reversed(_scopes(subject)):
            found = _merged(found, self.configs.get(key, ConfigValue()))
        return found

    def mode(self, subject: Subject | None) -> str:
        if self.modes.get(GLOBAL) == "READONLY_OVERRIDE":
            return "READONLY_OVERRIDE"
        return next((self.modes[key] for key in _scopes(subject) if key in self.modes), "READWRITE")

    def record_of(self, key: Key) -> Record:
        """What the log must say last about a key for this state to come out of it."""
        name = key.subject or GLOBAL
        match key.keytype:
            case records.SCHEMA:
                subject = parse_subject(name)
                versions = self.context(subject.context).subjects.get(subject.name, {})
                return Record(key, versions.get(key.version or 0))
            case records.CONFIG:
                return Record(key, self.configs.get(name))
            case records.MODE:
                return Record(key, ModeValue(self.modes[name]) if name in self.modes else None)
            case records.DELETE_SUBJECT:
                return Record(key, self.deletions.get(name))
        context = parse_subject(name).context
        return Record(key, NoopValue(self.context(context).max_id, context))

    # -- changing

    def replay(self, record: Record) -> None:
        """Applies one record; the only way in which anything changes."""
        key, value = record.key, record.value
        match key.keytype:
            case records.SCHEMA:
                self._replay_schema(key, value if isinstance(value, SchemaValue) else None)
            case records.CONFIG:
                _keep(self.configs, key, value if isinstance(value, ConfigValue) else None)
            case records.MODE:
                _keep(self.modes, key, value.mode if isinstance(value, ModeValue) else None)
            case records.DELETE_SUBJECT if isinstance(value, records.DeleteSubjectValue):
                self._replay_delete(value)
            case records.DELETE_SUBJECT:
                self.deletions.pop(key.subject or "", None)
            case records.CLEAR_SUBJECT if key.subject:
                subject = parse_subject(key.subject)
                for version in list(self.context(subject.context).subjects.get(subject.name, {})):
                    self._forget(subject, version)
            case records.NOOP if isinstance(value, NoopValue):
                context = self.contexts.setdefault(value.context, Context())
                context.max_id = max(context.max_id, value.max_id)

    def _replay_schema(self, key: Key, value: SchemaValue | None) -> None:
        subject, version = parse_subject(key.subject or ""), key.version or 0
        self._forget(subject, version)
        if value is None:
            return
        marker = self.deletions.get(str(subject))
        if marker is not None and not value.deleted and version <= marker.version:
            del self.deletions[str(subject)]  # the number is used again: the marker is of versions long gone
        context = self.contexts.setdefault(subject.context, Context())
        context.subjects.setdefault(subject.name, {})[version] = value
        context.holders.setdefault(value.id, set()).add((subject.name, version))
        context.ids.setdefault(value.id, value)
        context.digests.setdefault(content_of(value).digest, value.id)
        context.max_id = max(context.max_id, value.id)
        for reference in value.references:
            target = str(parse_subject(reference.subject)), reference.version
            self.referrers.setdefault(target, set()).add((str(subject), version))

    def _forget(self, subject: Subject, version: int) -> None:
        context = self.context(subject.context)
        versions = context.subjects.get(subject.name, {})
        old = versions.pop(version, None)
        if old is None:
            return
        if not versions:
            del context.subjects[subject.name]
        holders = context.holders[old.id]
        holders.discard((subject.name, version))
        if not holders:
            del context.holders[old.id], context.ids[old.id]
            context.digests.pop(content_of(old).digest, None)
        for reference in old.references:
            target = str(parse_subject(reference.subject)), reference.version
            self.referrers.get(target, set()).discard((str(subject), version))

    def _replay_delete(self, value: records.DeleteSubjectValue) -> None:
        subject = parse_subject(value.subject)
        self.deletions[str(subject)] = value
        versions = self.context(subject.context).subjects.get(subject.name, {})
        for number, each in versions.items():
            if number <= value.version:
                versions[number] = msgspec.structs.replace(each, deleted=True)


def _scopes(subject: Subject | None) -> list[str]:
    """Keys of settings from the narrowest to the widest."""
    if subject is None:
        return [GLOBAL]
    context = [] if subject.context == DEFAULT else [f":{subject.context}:"]
    return ([str(subject)] if subject.name else []) + context + [GLOBAL]


def _merged(wide: ConfigValue, narrow: ConfigValue) -> ConfigValue:
    given = {name: each for name in narrow.__struct_fields__ if (each := getattr(narrow, name)) is not None}
    return msgspec.structs.replace(wide, **given)


def _keep(kept: dict[str, Kept], key: Key, value: Kept | None) -> None:
    if value is None:
        kept.pop(key.subject or GLOBAL, None)
    else:
        kept[key.subject or GLOBAL] = value
