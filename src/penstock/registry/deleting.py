"""Deleting versions, subjects and contexts: soft first, then for good."""

from __future__ import annotations

import msgspec

from penstock.registry import errors, records
from penstock.registry.decisions import Decision, check_writable
from penstock.registry.lookups import find_version, referrers_of
from penstock.registry.records import DeleteSubjectValue, Key, NoopValue, Record, SchemaValue
from penstock.registry.state import State
from penstock.registry.subjects import DEFAULT, Subject


def decide_delete_version(state: State, subject: Subject, version: str, *, permanent: bool) -> Decision:
    check_writable(state, subject)
    versions = state.versions(subject, deleted=True)
    if not versions:
        raise errors.subject_not_found(str(subject))
    value = find_version(state, subject, version, deleted=permanent or version != "latest")
    if permanent and not value.deleted:
        raise errors.version_not_soft_deleted(str(subject), value.version)
    if not permanent and value.deleted:
        raise errors.version_soft_deleted(str(subject), value.version)
    _check_unreferenced(state, subject, value)
    key = Key(records.SCHEMA, str(subject), value.version)
    if not permanent:
        marked = msgspec.structs.replace(value, deleted=True, create_ts=value.create_ts or value.ts)
        return Decision((Record(key, marked),), value.version)
    found = [*_kept_max_id(state, subject, [value]), Record(key, None)]
    if len(versions) == 1 and str(subject) in state.deletions:
        found.append(Record(Key(records.DELETE_SUBJECT, str(subject)), None))
    return Decision(tuple(found), value.version)


def decide_delete_subject(state: State, subject: Subject, *, permanent: bool) -> Decision:
    check_writable(state, subject)
    everything, live = state.versions(subject, deleted=True), state.versions(subject)
    if not everything:
        raise errors.subject_not_found(str(subject))
    if permanent and live:
        raise errors.subject_not_soft_deleted(str(subject))
    if not permanent and not live:
        raise errors.subject_soft_deleted(str(subject))
    gone = everything if permanent else live
    for value in gone:
        _check_unreferenced(state, subject, value)
    answer = [value.version for value in gone]
    if not permanent:
        last = DeleteSubjectValue(str(subject), gone[-1].version)
        return Decision((Record(Key(records.DELETE_SUBJECT, str(subject)), last),), answer)
    tombstones = tuple(Record(Key(records.SCHEMA, str(subject), value.version), None) for value in gone)
    settings = tuple(
        Record(Key(kind, str(subject)), None)
        for kind, kept in ((records.CONFIG, state.configs), (records.MODE, state.modes))
        if str(subject) in kept
    )
    bound = tuple(
        Record(Key(records.ASSOCIATION, resource=resource, association=kind), None)
        for (resource, kind), value in state.associations.items()
        if value.subject == str(subject)
    )
    marker = Record(Key(records.DELETE_SUBJECT, str(subject)), None)
    return Decision((*_kept_max_id(state, subject, gone), *tombstones, *settings, *bound, marker), answer)


def decide_delete_context(state: State, context: str) -> Decision:
    """Takes an empty context away, with its settings, its mode and the memory of its highest id."""
    if context not in state.contexts:
        raise errors.context_not_found(context)
    if context == DEFAULT:
        raise errors.not_permitted("The default context cannot be deleted.")
    if state.context(context).subjects:
        raise errors.not_permitted(f"Context {context} has subjects. Delete them permanently first.")
    scope = f":{context}:"
    settings = [
        Record(Key(kind, scope), None)
        for kind, kept in ((records.CONFIG, state.configs), (records.MODE, state.modes))
        if scope in kept
    ]
    gone = (Record(Key(records.NOOP, scope), None), Record(Key(records.CONTEXT, context=context), None))
    return Decision((*settings, *gone), None)


def _kept_max_id(state: State, subject: Subject, gone: list[SchemaValue]) -> tuple[Record, ...]:
    """A record that remembers the highest id when the schema that has it goes for good."""
    highest = state.context(subject.context).max_id
    if all(value.id < highest for value in gone):
        return ()
    key = Key(records.NOOP, None if subject.context == DEFAULT else f":{subject.context}:")
    return (Record(key, NoopValue(highest, subject.context)),)


def _check_unreferenced(state: State, subject: Subject, value: SchemaValue) -> None:
    """A schema of another subject, or another version, that is not deleted keeps what it refers to."""
    place = str(subject), value.version
    if any(referrer != place for referrer, _ in referrers_of(state, place, deleted=False)):
        raise errors.reference_exists(str(subject), value.version)
