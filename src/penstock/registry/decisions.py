"""Requests that change something: `decide_*` gives the records that do it and the answer, or refuses.

Nothing is changed here. The records are appended, read back and replayed; then the answer holds.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from penstock.client import replayed_topic
from penstock.registry import errors, records
from penstock.registry.content import Content, content_of, decode_object
from penstock.registry.lookups import find_version, schema_answer
from penstock.registry.parsing import parse_content, parse_request, same_schema
from penstock.registry.records import (
    ConfigValue,
    ContextValue,
    DeleteSubjectValue,
    Key,
    ModeValue,
    NoopValue,
    Record,
    SchemaValue,
)
from penstock.registry.requests import ConfigAnswer, ConfigRequest, ModeBody, SchemaRequest
from penstock.registry.state import GLOBAL, State
from penstock.registry.subjects import DEFAULT, Subject
from penstock.schemas.levels import Level, check

MODES = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT")
ID_MAX = 2**31 - 1


Decision: TypeAlias = replayed_topic.Decision[Record, Any]


def decide_register(state: State, subject: Subject, request: SchemaRequest, *, normalise: bool) -> Decision:
    """The same schema again is no change; a new one must be compatible, and gets the next version."""
    _check_tags(request)
    config = state.config(subject)
    content = parse_request(state, subject, request, normalise=normalise or bool(config.normalize))
    existing = _existing(state, subject, content, request)
    if existing is not None:
        return Decision((), schema_answer(state, existing, registered=True))
    mode = state.mode(subject)
    importing = mode == "IMPORT"
    if mode.startswith("READONLY"):
        raise errors.not_permitted(f"Subject {subject} is in read-only mode")
    if (request.id is not None) and request.id >= 0 and not importing:
        raise errors.not_permitted(f"Subject {subject} is not in import mode")
    if not importing:
        reasons = incompatibilities(state, subject, content, state.versions(subject))
        if reasons:
            raise errors.incompatible(str(subject), reasons)
    value = _new_value(state, subject, content, request, importing=importing)
    record = Record(Key(records.SCHEMA, str(subject), value.version), value)
    return Decision((*_new_context(state, subject), record), schema_answer(state, value, registered=True))


def incompatibilities(
    state: State, subject: Subject, content: Content, older: list[SchemaValue], level: str | None = None
) -> list[str]:
    """Why a schema is not compatible with older ones at the subject's level."""
    config = state.config(subject)
    group = config.compatibility_group
    if group:
        wanted = _property(decode_object(content.metadata), group)
        older = [each for each in older if _property(each.metadata, group) == wanted]
    chosen = Level(level or config.compatibility_level or Level.BACKWARD)
    if chosen is Level.NONE or not older:
        return []
    compared = older if chosen.is_transitive else older[-1:]
    parsed = [(each.version, parse_content(state, subject, each)) for each in compared]
    return check(chosen, parse_content(state, subject, content), parsed)


def decide_delete_version(state: State, subject: Subject, version: str, *, permanent: bool) -> Decision:
    _check_writable(state, subject)
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
        return Decision((Record(key, msgspec.structs.replace(value, deleted=True)),), value.version)
    found = [*_kept_max_id(state, subject, [value]), Record(key, None)]
    if len(versions) == 1 and str(subject) in state.deletions:
        found.append(Record(Key(records.DELETE_SUBJECT, str(subject)), None))
    return Decision(tuple(found), value.version)


def decide_delete_subject(state: State, subject: Subject, *, permanent: bool) -> Decision:
    _check_writable(state, subject)
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
    marker = Record(Key(records.DELETE_SUBJECT, str(subject)), None)
    return Decision((*_kept_max_id(state, subject, gone), *tombstones, *settings, marker), answer)


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


def _new_context(state: State, subject: Subject) -> tuple[Record, ...]:
    if subject.context in state.contexts:
        return ()
    value = ContextValue(records.TENANT, subject.context)
    return (Record(Key(records.CONTEXT, context=subject.context), value),)


def decide_config(state: State, scope: str, request: ConfigRequest) -> Decision:
    """`scope` is a subject, a context or, empty, the whole registry."""
    for name in request.__struct_fields__:
        known = ("compatibility", "normalize", "compatibility_group", "validate_new_schemas")
        if name not in known and getattr(request, name) not in (None, False, "STRICT"):
            raise errors.not_supported(name)
    level = request.compatibility.upper() if request.compatibility is not None else None
    if level is not None and level not in Level.__members__:
        raise errors.invalid_level(request.compatibility)
    given = ConfigValue(level, request.compatibility_group, request.normalize)
    old = state.configs.get(scope, ConfigValue())
    merged = {
        name: getattr(given, name) if getattr(given, name) is not None else getattr(old, name)
        for name in given.__struct_fields__
    }
    record = Record(Key(records.CONFIG, scope or None), ConfigValue(**merged))
    answer = msgspec.structs.replace(request, compatibility=level)
    return Decision((record,), answer)


def decide_delete_config(state: State, scope: str) -> Decision:
    old = state.configs.get(scope)
    if old is None and scope != GLOBAL:
        raise errors.no_subject_config(scope)
    told = ConfigAnswer(old.compatibility_level, old.compatibility_group, old.normalize) if old else None
    answer = told or ConfigAnswer(state.default_level)
    return Decision((Record(Key(records.CONFIG, scope or None), None),) if old else (), answer)


def decide_mode(state: State, scope: str, subject: Subject | None, mode: str, *, force: bool) -> Decision:
    if mode not in MODES:
        raise errors.invalid_mode(mode)
    if mode == "IMPORT" and not force and _has_schemas(state, subject):
        raise errors.not_permitted(
            "Cannot import since found existing subjects. Set force=true to do it anyway"
        )
    return Decision((Record(Key(records.MODE, scope or None), ModeValue(mode)),), ModeBody(mode))


def decide_delete_mode(state: State, scope: str) -> Decision:
    old = state.modes.get(scope)
    if old is None and scope != GLOBAL:
        raise errors.no_subject_mode(scope)
    return Decision(
        (Record(Key(records.MODE, scope or None), None),) if old else (), ModeBody(old or "READWRITE")
    )


def _existing(state: State, subject: Subject, content: Content, request: SchemaRequest) -> SchemaValue | None:
    """A version of the subject with this content already; without metadata in the request any will do."""
    versions = [(each, content_of(each)) for each in state.versions(subject)]
    found = [each for each, known in versions if same_schema(state, subject, known, content)]
    if not found and request.metadata is None and request.rule_set is None:
        found = [each for each, known in versions if same_schema(state, subject, known.bare, content.bare)]
    wanted = request.id if request.id is not None and request.id >= 0 else None
    matching = [each for each in found if wanted is None or each.id == wanted]
    return matching[-1] if matching else None


def _new_value(
    state: State, subject: Subject, content: Content, request: SchemaRequest, *, importing: bool
) -> SchemaValue:
    versions = state.versions(subject, deleted=True)
    version = versions[-1].version + 1 if versions else 1
    if importing and request.version is not None and request.version > 0:
        version = request.version
    elif request.version is not None and request.version > 0 and request.version != version:
        raise errors.id_does_not_match(f"Version is not one more than previous version {version - 1}")
    return SchemaValue(
        str(subject),
        version,
        _id_for(state, subject, content, request.id if importing else None),
        content.schema,
        content.schema_type,
        content.references,
        decode_object(content.metadata),
        decode_object(content.rule_set),
        guid=content.guid,
    )


def _id_for(state: State, subject: Subject, content: Content, wanted: int | None) -> int:
    """The id that this content has already, the one asked for in import mode, or the next."""
    context = state.context(subject.context)
    if wanted is not None and wanted >= 0:
        holder = context.ids.get(wanted)
        if holder is not None and content_of(holder).digest != content.digest:
            raise errors.not_permitted(f"Overwrite new schema with id {wanted} is not permitted.")
        return wanted
    known = state.find_id(subject.context, content)
    if known is not None:
        return known
    if context.max_id >= ID_MAX:
        raise errors.store_failed("all ids are given.")
    return context.max_id + 1


def _kept_max_id(state: State, subject: Subject, gone: list[SchemaValue]) -> tuple[Record, ...]:
    """A record that remembers the highest id when the schema that has it goes for good."""
    highest = state.context(subject.context).max_id
    if all(value.id < highest for value in gone):
        return ()
    key = Key(records.NOOP, None if subject.context == DEFAULT else f":{subject.context}:")
    return (Record(key, NoopValue(highest, subject.context)),)


def _check_writable(state: State, subject: Subject) -> None:
    if state.mode(subject).startswith("READONLY"):
        raise errors.not_permitted(f"Subject {subject} is in read-only mode")


def _check_unreferenced(state: State, subject: Subject, value: SchemaValue) -> None:
    if state.referrers.get((str(subject), value.version)):
        raise errors.reference_exists(str(subject), value.version)


def _check_tags(request: SchemaRequest) -> None:
    for name in ("schema_tags_to_add", "schema_tags_to_remove"):
        if getattr(request, name):
            raise errors.not_supported(name)


def _has_schemas(state: State, subject: Subject | None) -> bool:
    if subject is None:
        return any(state.versions(Subject(context, name)) for context, each in state.contexts.items()
                   for name in each.subjects)  # fmt: skip
    if subject.name:
        return bool(state.versions(subject))
    return bool(state.context(subject.context).subjects)


def _property(metadata: dict[str, Any] | None, name: str) -> Any:
    properties = (metadata or {}).get("properties")
    return properties.get(name) if isinstance(properties, dict) else None
