"""Registering: the same schema again is no change; a new one must be compatible and gets the next version."""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.registry import errors, records
from penstock.registry.content import Content, content_of, decode_object, encode_object
from penstock.registry.contracts import (
    VERSION,
    in_group,
    merged_metadata,
    merged_rules,
    property_of,
    reserved_conflicts,
    with_property,
)
from penstock.registry.decisions import Decision, check_writable
from penstock.registry.lookups import schema_answer
from penstock.registry.parsing import parse_content, parse_request, same_schema
from penstock.registry.records import ConfigValue, ContextValue, Key, Record, SchemaValue
from penstock.registry.requests import SchemaRequest
from penstock.registry.rule_sets import check_rules
from penstock.registry.state import State
from penstock.registry.subjects import Subject
from penstock.schemas.fields import top_level_fields
from penstock.schemas.levels import Level, check

ID_MAX: Final = 2**31 - 1


def decide_register(state: State, subject: Subject, request: SchemaRequest, *, normalise: bool) -> Decision:
    config = state.config(subject)
    plain = request.metadata is None and request.rule_set is None
    request = _completed(state, subject, request, config)
    content = parse_request(state, subject, request, normalise=normalise or bool(config.normalize))
    existing = _existing(state, subject, content.unversioned, request.id, plain=plain)
    if existing is not None:
        return Decision((), schema_answer(state, existing, registered=True))
    check_writable(state, subject)
    importing = state.mode(subject) == "IMPORT"
    given = request.id is not None and request.id >= 0
    if given != importing:
        how = "is in import mode, where every schema has an id" if importing else "is not in import mode"
        raise errors.not_permitted(f"Subject {subject} {how}")
    if config.validate_rules:
        check_rules(request.rule_set)
    if not importing:
        _check_compatible(state, subject, content, config)
    value = _new_value(state, subject, content, request, importing=importing)
    record = Record(Key(records.SCHEMA, str(subject), value.version), value)
    return Decision((*_new_context(state, subject), record), schema_answer(state, value, registered=True))


def incompatibilities(
    state: State, subject: Subject, content: Content, older: list[SchemaValue], level: str | None = None
) -> list[str]:
    """Why a schema is not compatible with older ones at the subject's level."""
    config = state.config(subject)
    if config.compatibility_group:
        metadata = decode_object(content.metadata)
        older = [each for each in older if in_group(config.compatibility_group, metadata, each.metadata)]
    chosen = Level(level or config.compatibility_level or Level.BACKWARD)
    if chosen is Level.NONE or not older:
        return []
    compared = older if chosen.is_transitive else older[-1:]
    parsed = [(each.version, parse_content(state, subject, each)) for each in compared]
    return check(chosen, parse_content(state, subject, content), parsed)


def _completed(state: State, subject: Subject, request: SchemaRequest, config: ConfigValue) -> SchemaRequest:
    """The request with what it leaves to the version before it and to the settings.

    Metadata or rules without a schema are for the latest one.
    """
    versions = state.versions(subject)
    before = versions[-1] if versions else None
    alone = request.metadata is not None or request.rule_set is not None
    if not request.schema and before is not None and alone:
        request = msgspec.structs.replace(
            request,
            schema=before.schema,
            schema_type=before.schema_type,
            references=list(before.references),
        )
    metadata = merged_metadata(config, request.metadata, before)
    rule_set = merged_rules(config, request.rule_set, before)
    return msgspec.structs.replace(request, metadata=metadata, rule_set=rule_set)


def _check_compatible(state: State, subject: Subject, content: Content, config: ConfigValue) -> None:
    older = state.versions(subject)
    if config.validate_fields:
        fields = top_level_fields(parse_content(state, subject, content))
        metadata = decode_object(content.metadata)
        conflicts = reserved_conflicts(metadata, fields, older[-1] if older else None)
        if conflicts:
            raise errors.invalid_schema(" ".join(conflicts))
    reasons = incompatibilities(state, subject, content, older)
    if reasons:
        raise errors.incompatible(str(subject), reasons)


def _existing(
    state: State, subject: Subject, content: Content, schema_id: int | None, *, plain: bool
) -> SchemaValue | None:
    """The last version of the subject that has this content already, under the id that the request names.

    A `plain` request names no metadata and no rules, and is content with any.
    """
    wanted = schema_id if schema_id is not None and schema_id >= 0 else None
    for each in reversed(state.versions(subject)):
        known = content_of(each).unversioned
        one, other = (known.bare, content.bare) if plain else (known, content)
        if (wanted is None or each.id == wanted) and same_schema(state, subject, one, other):
            return each
    return None


def _new_value(
    state: State, subject: Subject, content: Content, request: SchemaRequest, *, importing: bool
) -> SchemaValue:
    versions = state.versions(subject, deleted=True)
    version = versions[-1].version + 1 if versions else 1
    if importing and request.version is not None and request.version > 0:
        version = request.version
    elif request.version is not None and request.version > 0 and request.version != version:
        raise errors.id_does_not_match(f"Version is not one more than previous version {version - 1}")
    metadata = decode_object(content.metadata)
    if property_of(metadata, VERSION) is not None:
        metadata = with_property(metadata, VERSION, str(version))
        content = msgspec.structs.replace(content, metadata=encode_object(metadata))
    return SchemaValue(
        str(subject),
        version,
        _id_for(state, subject, content, request.id if importing else None),
        content.schema,
        content.schema_type,
        content.references,
        metadata,
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


def _new_context(state: State, subject: Subject) -> tuple[Record, ...]:
    if subject.context in state.contexts:
        return ()
    value = ContextValue(records.TENANT, subject.context)
    return (Record(Key(records.CONTEXT, context=subject.context), value),)
