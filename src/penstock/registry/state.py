"""What the records of `_schemas` say, as an immutable value: `replay` returns the next one.

Readers keep the state that they have, without a lock. Every method is quick and pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

import msgspec

from penstock.client.frozen_map import FrozenMap
from penstock.registry import records
from penstock.registry.content import Content, content_of, guid_of
from penstock.registry.records import (
    AssociationValue,
    ConfigValue,
    ContextValue,
    ExporterStateValue,
    ExporterValue,
    Key,
    ModeValue,
    NoopValue,
    Record,
    ReferenceValue,
    SchemaValue,
)
from penstock.registry.subjects import DEFAULT, GLOBAL_CONTEXT, Subject, parse_subject

GLOBAL: Final = ""
"""The key of settings that hold for the whole registry."""

EVERYWHERE: Final = f":{GLOBAL_CONTEXT}:"
"""The key of settings that hold in every context."""

Kept = TypeVar("Kept")
Named = TypeVar("Named", str, tuple[str, str])
Versions = dict[int, SchemaValue]
"""The versions of one subject by number. Never changed in place."""
Place = tuple[str, int]
"""A subject and a version."""


@dataclass(frozen=True, slots=True)
class Context:
    """One space of ids and subjects."""

    ids: FrozenMap[int, SchemaValue] = field(default_factory=FrozenMap)
    """A schema by its id; which of its versions it is does not matter."""
    digests: FrozenMap[bytes, int] = field(default_factory=FrozenMap)
    """The id of a content. Where a topic has two ids of one, the first that was read."""
    guids: FrozenMap[str, int] = field(default_factory=FrozenMap)
    holders: FrozenMap[int, frozenset[Place]] = field(default_factory=FrozenMap)
    """Subjects and versions that have an id, deleted ones too."""
    subjects: FrozenMap[str, Versions] = field(default_factory=FrozenMap)
    max_id: int = 0
    """The highest id ever given, so that the id of a schema that is gone is not given again."""

    def with_version(self, name: str, value: SchemaValue) -> Context:
        digest, guid = content_of(value).digest, guid_of(value)
        held = self.holders.get(value.id, frozenset())
        return replace(
            self,
            ids=self.ids if value.id in self.ids else self.ids.with_item(value.id, value),
            digests=self.digests if digest in self.digests else self.digests.with_item(digest, value.id),
            guids=self.guids if guid in self.guids else self.guids.with_item(guid, value.id),
            holders=self.holders.with_item(value.id, held | {(name, value.version)}),
            subjects=self.subjects.with_item(name, {**self.subjects.get(name, {}), value.version: value}),
            max_id=max(self.max_id, value.id),
        )

    def without_version(self, name: str, old: SchemaValue) -> Context:
        versions = {number: each for number, each in self.subjects[name].items() if number != old.version}
        subjects = self.subjects.with_item(name, versions) if versions else self.subjects.without(name)
        left = self.holders[old.id] - {(name, old.version)}
        if left:
            return replace(self, subjects=subjects, holders=self.holders.with_item(old.id, left))
        digest, guid = content_of(old).digest, guid_of(old)
        return replace(
            self,
            subjects=subjects,
            holders=self.holders.without(old.id),
            ids=self.ids.without(old.id),
            digests=self.digests.without(digest) if self.digests.get(digest) == old.id else self.digests,
            guids=self.guids.without(guid) if self.guids.get(guid) == old.id else self.guids,
        )


_NO_CONTEXT: Final = Context()


@dataclass(frozen=True, slots=True)
class State:
    default_level: str = "BACKWARD"
    contexts: FrozenMap[str, Context] = field(
        default_factory=lambda: FrozenMap[str, Context]().with_item(DEFAULT, _NO_CONTEXT)
    )
    configs: FrozenMap[str, ConfigValue] = field(default_factory=FrozenMap)
    modes: FrozenMap[str, str] = field(default_factory=FrozenMap)
    deletions: FrozenMap[str, records.DeleteSubjectValue] = field(default_factory=FrozenMap)
    """The marker that each deleted subject has in the log."""
    referrers: FrozenMap[Place, frozenset[Place]] = field(default_factory=FrozenMap)
    """Which versions refer to a version; subjects are full names."""
    associations: FrozenMap[tuple[str, str], AssociationValue] = field(default_factory=FrozenMap)
    """By the id of a resource and by `key` or `value`."""
    exporters: FrozenMap[str, ExporterValue] = field(default_factory=FrozenMap)
    exporter_states: FrozenMap[str, ExporterStateValue] = field(default_factory=FrozenMap)

    # -- asking

    def context(self, name: str) -> Context:
        return self.contexts.get(name, _NO_CONTEXT)

    def versions(self, subject: Subject, *, deleted: bool = False) -> list[SchemaValue]:
        """The versions of a subject, oldest first."""
        found = self.versions_of(subject)
        return [found[number] for number in sorted(found) if deleted or not found[number].deleted]

    def versions_of(self, subject: Subject) -> Versions:
        return self.context(subject.context).subjects.get(subject.name, {})

    def find_id(self, context: str, content: Content) -> int | None:
        return self.context(context).digests.get(content.digest)

    def by_guid(self, guid: str) -> list[tuple[str, SchemaValue]]:
        """Contexts and schemas that have a GUID."""
        found = ((name, context, context.guids.get(guid)) for name, context in self.contexts.items())
        return sorted(
            ((name, context.ids[each]) for name, context, each in found if each is not None),
            key=lambda each: each[0],
        )

    def config(self, subject: Subject | None) -> ConfigValue:
        """What holds for a subject: its settings, its context's, those of all contexts, the registry's."""
        found = ConfigValue(compatibility_level=self.default_level)
        for key in reversed(_scopes(subject)):
            if (narrow := self.configs.get(key)) is not None:
                found = _merged(found, narrow)
        return found

    def mode(self, subject: Subject | None) -> str:
        if "READONLY_OVERRIDE" in (self.modes.get(GLOBAL), self.modes.get(EVERYWHERE)):
            return "READONLY_OVERRIDE"
        return next((self.modes[key] for key in _scopes(subject) if key in self.modes), "READWRITE")

    def record_of(self, record: Record) -> Record:
        """The record that the log must hold last under this record's key, for this state to come of it."""
        key = record.key
        name = key.subject or GLOBAL
        match key.keytype:
            case records.SCHEMA:
                return Record(key, self.versions_of(parse_subject(name)).get(key.version or 0))
            case records.CONFIG:
                return Record(key, self.configs.get(name))
            case records.MODE:
                return Record(key, ModeValue(self.modes[name]) if name in self.modes else None)
            case records.DELETE_SUBJECT:
                return Record(key, self.deletions.get(name))
            case records.CONTEXT:
                there = (key.context or DEFAULT) in self.contexts
                return Record(key, ContextValue(records.TENANT, key.context or DEFAULT) if there else None)
            case records.ASSOCIATION:
                return Record(key, self.associations.get(_association(key)))
            case records.EXPORTER:
                return Record(key, self.exporters.get(key.name or ""))
            case records.EXPORTER_STATE:
                return Record(key, self.exporter_states.get(key.name or ""))
        context = parse_subject(name).context
        return Record(key, NoopValue(self.context(context).max_id, context))

    # -- the next state

    def replay(self, record: Record) -> State:
        key, value = record.key, record.value
        match key.keytype:
            case records.SCHEMA:
                return self._replay_schema(key, value if isinstance(value, SchemaValue) else None)
            case records.CONFIG:
                kept = value if isinstance(value, ConfigValue) else None
                return replace(self, configs=_with(self.configs, key, kept))
            case records.MODE:
                mode = value.mode if isinstance(value, ModeValue) else None
                return replace(self, modes=_with(self.modes, key, mode))
            case records.DELETE_SUBJECT if isinstance(value, records.DeleteSubjectValue):
                return self._replay_delete(value)
            case records.DELETE_SUBJECT:
                return replace(self, deletions=self.deletions.without(key.subject or ""))
            case records.CLEAR_SUBJECT if key.subject:
                subject, state = parse_subject(key.subject), self
                for version in self.versions_of(subject):
                    state = state._without(subject, version)
                return state
            case records.CONTEXT if key.context:
                return self._replay_context(key.context, there=value is not None)
            case records.ASSOCIATION:
                bound = value if isinstance(value, AssociationValue) else None
                return replace(self, associations=_put(self.associations, _association(key), bound))
            case records.EXPORTER:
                exporter = value if isinstance(value, ExporterValue) else None
                return replace(self, exporters=_put(self.exporters, key.name or "", exporter))
            case records.EXPORTER_STATE:
                step = value if isinstance(value, ExporterStateValue) else None
                return replace(self, exporter_states=_put(self.exporter_states, key.name or "", step))
            case records.NOOP if value is None and key.subject:
                name = parse_subject(key.subject).context
                context = self.context(name)
                known = name in self.contexts
                highest = max(context.ids, default=0)
                return self._with_context(name, replace(context, max_id=highest)) if known else self
            case records.NOOP if isinstance(value, NoopValue):
                context = self.context(value.context)
                return self._with_context(
                    value.context, replace(context, max_id=max(context.max_id, value.max_id))
                )
        return self

    def _replay_context(self, name: str, *, there: bool) -> State:
        """A context is forgotten only when it is empty; its highest id goes with it."""
        if there:
            return self if name in self.contexts else self._with_context(name, _NO_CONTEXT)
        if name == DEFAULT or self.context(name).subjects:
            return self
        return replace(self, contexts=self.contexts.without(name))

    def _with_context(self, name: str, context: Context) -> State:
        return replace(self, contexts=self.contexts.with_item(name, context))

    def _replay_schema(self, key: Key, value: SchemaValue | None) -> State:
        subject, version = parse_subject(key.subject or ""), key.version or 0
        state = self._without(subject, version)
        if value is None:
            return state
        marker = state.deletions.get(str(subject))
        if marker is not None and not value.deleted and version <= marker.version:
            # The number is used again: the marker is of versions long gone.
            state = replace(state, deletions=state.deletions.without(str(subject)))
        state = state._with_context(
            subject.context, state.context(subject.context).with_version(subject.name, value)
        )
        if not value.references:
            return state
        referrers = state.referrers
        for target in _targets(value):
            referrers = referrers.with_item(
                target, referrers.get(target, frozenset()) | {(str(subject), version)}
            )
        return replace(state, referrers=referrers)

    def _without(self, subject: Subject, version: int) -> State:
        old = self.versions_of(subject).get(version)
        if old is None:
            return self
        context = self.context(subject.context).without_version(subject.name, old)
        referrers = self.referrers
        for target in _targets(old):
            left = referrers.get(target, frozenset()) - {(str(subject), version)}
            referrers = referrers.with_item(target, left) if left else referrers.without(target)
        return replace(self._with_context(subject.context, context), referrers=referrers)

    def _replay_delete(self, value: records.DeleteSubjectValue) -> State:
        subject = parse_subject(value.subject)
        state = replace(self, deletions=self.deletions.with_item(str(subject), value))
        versions = state.versions_of(subject)
        if not versions:
            return state
        marked = {
            number: msgspec.structs.replace(each, deleted=True) if number <= value.version else each
            for number, each in versions.items()
        }
        context = state.context(subject.context)
        changed = replace(context, subjects=context.subjects.with_item(subject.name, marked))
        return state._with_context(subject.context, changed)


def _targets(value: SchemaValue) -> list[Place]:
    around = parse_subject(value.subject)
    return [(str(target_of(around, each)), each.version) for each in value.references]


def target_of(around: Subject, reference: ReferenceValue) -> Subject:
    """A reference without a context means the context of the schema that it stands in."""
    target = parse_subject(reference.subject)
    return target if target.context != DEFAULT else Subject(around.context, target.name)


def _scopes(subject: Subject | None) -> list[str]:
    """Keys of settings from the narrowest to the widest."""
    if subject is None:
        return [GLOBAL, EVERYWHERE]
    own = [str(subject)] if subject.name else []
    if subject.context == DEFAULT:
        return [*own, GLOBAL, EVERYWHERE]
    return [*own, f":{subject.context}:", EVERYWHERE, GLOBAL]


def _merged(wide: ConfigValue, narrow: ConfigValue) -> ConfigValue:
    given = {name: each for name in narrow.__struct_fields__ if (each := getattr(narrow, name)) is not None}
    return msgspec.structs.replace(wide, **given)


def _with(kept: FrozenMap[str, Kept], key: Key, value: Kept | None) -> FrozenMap[str, Kept]:
    return _put(kept, key.subject or GLOBAL, value)


def _put(kept: FrozenMap[Named, Kept], name: Named, value: Kept | None) -> FrozenMap[Named, Kept]:
    return kept.without(name) if value is None else kept.with_item(name, value)


def _association(key: Key) -> tuple[str, str]:
    return key.resource or "", key.association or ""
