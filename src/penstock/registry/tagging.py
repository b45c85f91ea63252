"""Tags that requests add to a schema or take from it. They become part of the schema's text."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from penstock.registry.contracts import VERSION, merged_rules, with_property, without_rules
from penstock.registry.decisions import Decision
from penstock.registry.errors import invalid_schema
from penstock.registry.lookups import find_version
from penstock.registry.parsing import parse_content, parse_text
from penstock.registry.records import ConfigValue, SchemaValue
from penstock.registry.registering import decide_register
from penstock.registry.requests import EntityBody, SchemaRequest, TagRequest, TagsBody
from penstock.registry.state import State
from penstock.registry.subjects import Subject, parse_subject
from penstock.schemas.errors import InvalidSchema
from penstock.schemas.schema import ParsedSchema
from penstock.schemas.tags import FIELD, RECORD, Entity, find_tags, with_tags


def decide_register_tagged(
    state: State, subject: Subject, request: SchemaRequest, *, normalise: bool
) -> Decision:
    """A registration whose schema gets the tags that the request names first."""
    wanted = request.schema_tags_to_add, request.schema_tags_to_remove
    if request.schema and (any(wanted) or request.propagate_schema_tags):
        parsed = parse_text(state, subject, request)
        added = {**_inherited(state, subject, request, parsed), **_tags(request.schema_tags_to_add)}
        text = _with_tags(parsed, added, _tags(request.schema_tags_to_remove))
        request = msgspec.structs.replace(request, schema=text)
    return decide_register(state, subject, request, normalise=normalise)


def decide_tags(state: State, subject: Subject, version: str, request: TagRequest) -> Decision:
    """A new version: the schema of a version with other tags, and the metadata and rules that are given."""
    value = find_version(state, subject, version, deleted=False)
    parsed = parse_content(state, subject, value)
    text = _with_tags(parsed, _tags(request.tags_to_add), _tags(request.tags_to_remove))
    metadata = request.metadata if request.metadata is not None else value.metadata or {}
    if request.new_version is not None and request.new_version > 0:
        metadata = with_property(metadata, VERSION, str(request.new_version))
    rules = request.rule_set if request.rule_set is not None else value.rule_set or {}
    if request.rules_to_merge is not None:
        rules = merged_rules(ConfigValue(override_rule_set=request.rules_to_merge), rules, None) or {}
    asked = SchemaRequest(
        schema=text,
        schema_type=value.schema_type,
        references=list(value.references),
        metadata=metadata,
        rule_set=without_rules(rules, request.rules_to_remove or ()),
        version=request.new_version,
    )
    return decide_register(state, subject, asked, normalise=False)


def tags_told(state: State, value: SchemaValue, wanted: Iterable[str]) -> list[TagsBody]:
    """The entities of a version that have one of these tags, with all of their tags; `*` is every tag."""
    words = set(wanted)
    found = find_tags(parse_content(state, parse_subject(value.subject), value))
    return [
        TagsBody(EntityBody(entity.path, entity.kind), tags)
        for entity, tags in found.items()
        if "*" in words or words & set(tags)
    ]


def _inherited(
    state: State, subject: Subject, request: SchemaRequest, parsed: ParsedSchema
) -> dict[Entity, list[str]]:
    """Tags of the version before, of entities that the new schema has, too."""
    versions = state.versions(subject)
    if not request.propagate_schema_tags or not versions:
        return {}
    before = parse_content(state, subject, versions[-1])
    if before.schema_type != parsed.schema_type:
        return {}
    return {entity: words for entity, words in find_tags(before).items() if _has(parsed, entity)}


def _has(parsed: ParsedSchema, entity: Entity) -> bool:
    try:
        with_tags(parsed, {entity: []}, {})
    except InvalidSchema:
        return False
    return True


def _tags(given: list[TagsBody] | None) -> dict[Entity, list[str]]:
    found: dict[Entity, list[str]] = {}
    for each in given or ():
        if each.schema_entity.entity_type not in (RECORD, FIELD):
            raise invalid_schema(
                f"entityType is {each.schema_entity.entity_type[:80]!r}; use {FIELD} or {RECORD}."
            )
        found.setdefault(Entity(each.schema_entity.entity_path, each.schema_entity.entity_type), []).extend(
            each.tags
        )
    return found


def _with_tags(parsed: ParsedSchema, added: dict[Entity, list[str]], removed: dict[Entity, list[str]]) -> str:
    try:
        return with_tags(parsed, added, removed)
    except InvalidSchema as error:
        raise invalid_schema(str(error)) from error
