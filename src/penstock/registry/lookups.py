"""Requests that only ask: versions, schemas by id, what uses them; from the state, without a change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.registry import errors
from penstock.registry.content import guid_of
from penstock.registry.records import SchemaValue
from penstock.registry.requests import SchemaAnswer
from penstock.registry.state import Place, State
from penstock.registry.subjects import DEFAULT, WILDCARD, Subject, parse_subject
from penstock.schemas.schema import AVRO


def schema_answer(
    _state: State,
    value: SchemaValue,
    *,
    text: str | None = None,
    registered: bool = False,
    bare: bool = False,
) -> SchemaAnswer:
    """A schema as it is answered; empty references are left out.

    `registered` is the answer to a registration, which names no subject; `bare` the one to an id. Both leave
    AVRO out, as clients expect.
    """
    return SchemaAnswer(
        subject=None if registered or bare else value.subject,
        version=None if bare else value.version,
        id=None if bare else value.id,
        guid=guid_of(value),
        schema_type=None if (registered or bare) and value.schema_type == AVRO else value.schema_type,
        references=value.references,
        metadata=value.metadata,
        rule_set=value.rule_set,
        schema=value.schema if text is None else text,
        ts=None if registered else value.ts,
        create_ts=None if registered else value.create_ts,
        deleted=True if value.deleted and not bare else None,
    )


def find_version(state: State, subject: Subject, version: str, *, deleted: bool) -> SchemaValue:
    """A version by its number, `latest` or -1."""
    number = parse_version(version)
    versions = state.versions(subject, deleted=deleted)
    if not versions:
        raise errors.subject_not_found(str(subject))
    if number is None:
        return versions[-1]
    found = next((each for each in versions if each.version == number), None)
    if found is None:
        raise errors.version_not_found(number)
    return found


def find_with_metadata(
    state: State, subject: Subject, wanted: dict[str, str], *, deleted: bool
) -> SchemaValue:
    """The latest version whose metadata has all these properties."""
    versions = state.versions(subject, deleted=deleted)
    if not versions:
        raise errors.subject_not_found(str(subject))
    for value in reversed(versions):
        properties = (value.metadata or {}).get("properties")
        if isinstance(properties, dict) and all(properties.get(key) == text for key, text in wanted.items()):
            return value
    raise errors.schema_not_found()


def parse_version(text: str) -> int | None:
    """None for the latest."""
    if text in ("latest", "-1"):
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 10 and 1 <= int(text) < 2**31):
        raise errors.invalid_version(text)
    return int(text)


def find_id(state: State, schema_id: str, subject: str) -> SchemaValue:
    """A schema by its id, in the context of the subject that is given, or in the default one.

    A subject without a context prefers the context where a subject of that name has the id.
    """
    wanted = parse_subject(subject)
    number = int(schema_id) if schema_id.isascii() and schema_id.isdecimal() and len(schema_id) < 11 else -1
    names = [wanted.context]
    if wanted.context == DEFAULT and wanted.name:
        names = sorted(state.contexts, key=lambda name: not _holds(state, name, wanted.name, number))
    found = next((known for name in names if (known := state.context(name).ids.get(number))), None)
    if found is None:
        raise errors.schema_not_found(schema_id[:40])
    return found


def _holds(state: State, context: str, name: str, number: int) -> bool:
    return any(held == name for held, _ in state.context(context).holders.get(number, ()))


def locate(state: State, subject: Subject, *, deleted: bool) -> Subject:
    """The subject; or, where the default context has none of that name, the first context that has one."""
    if subject.context != DEFAULT or state.versions(subject, deleted=deleted):
        return subject
    others = (Subject(name, subject.name) for name in sorted(state.contexts) if name != DEFAULT)
    return next((other for other in others if state.versions(other, deleted=deleted)), subject)


def users_of(state: State, value: SchemaValue, *, deleted: bool) -> list[tuple[str, int]]:
    """Subjects and versions that have the same id."""
    subject = parse_subject(value.subject)
    context = state.context(subject.context)
    found = []
    for name, version in sorted(context.holders.get(value.id, ())):
        if deleted or not context.subjects[name][version].deleted:
            found.append((str(Subject(subject.context, name)), version))
    return found


def list_subjects(state: State, prefix: str, *, deleted: bool, deleted_only: bool) -> list[str]:
    found = []
    for context, each in state.contexts.items():
        for name, versions in each.subjects.items():
            full = Subject(context, name)
            live = any(not value.deleted for value in versions.values())
            if (not live if deleted_only else (live or deleted)) and _has_prefix(full, prefix):
                found.append(str(full))
    return sorted(found)


def list_schemas(state: State, prefix: str, *, deleted: bool, latest_only: bool) -> Iterable[SchemaValue]:
    for subject in list_subjects(state, prefix, deleted=deleted, deleted_only=False):
        versions = state.versions(parse_subject(subject), deleted=deleted)
        yield from versions[-1:] if latest_only else versions


def referenced_by(state: State, subject: Subject, version: int, *, deleted: bool) -> list[int]:
    """Ids of the schemas that refer to a version."""
    found = referrers_of(state, (str(subject), version), deleted=deleted)
    return sorted({value.id for _, value in found})


def referrers_of(state: State, place: Place, *, deleted: bool) -> list[tuple[Place, SchemaValue]]:
    """Versions that refer to one, with their schemas."""
    found = []
    for name, number in sorted(state.referrers.get(place, ())):
        value = state.versions_of(parse_subject(name)).get(number)
        if value is not None and (deleted or not value.deleted):
            found.append(((name, number), value))
    return found


def aliased(state: State, subject: Subject) -> Subject:
    """The subject that a subject's own settings make it an alias of, or the subject itself."""
    own = state.configs.get(str(subject))
    return parse_subject(own.alias) if own is not None and own.alias and subject.name else subject


def aliases_of(state: State, subject: str) -> list[str]:
    """The subjects whose settings make them aliases of a subject."""
    return sorted(name for name, config in state.configs.items() if config.alias == subject)


def has_rule_type(value: SchemaValue, rule_type: str) -> bool:
    rules = (rule for each in (value.rule_set or {}).values() if isinstance(each, list) for rule in each)
    return any(isinstance(rule, dict) and rule.get("type") == rule_type for rule in rules)


def page(found: list[Any], offset: int, limit: int) -> list[Any]:
    """A part of a list; a limit below zero is none."""
    start = max(0, offset)
    return found[start:] if limit < 0 else found[start : start + limit]


def _has_prefix(subject: Subject, prefix: str) -> bool:
    if prefix.startswith(WILDCARD):
        return subject.name.startswith(prefix.removeprefix(WILDCARD))
    wanted = parse_subject(prefix)
    return subject.context == wanted.context and subject.name.startswith(wanted.name)
