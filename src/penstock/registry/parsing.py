"""Schemas of requests and records with their references, parsed. What was parsed lately is remembered."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from penstock.registry.content import Content, encode_object
from penstock.registry.errors import invalid_schema, too_large
from penstock.registry.records import ReferenceValue, SchemaValue
from penstock.registry.requests import SchemaRequest
from penstock.registry.state import State, target_of
from penstock.registry.subjects import Subject
from penstock.schemas.errors import InvalidSchema
from penstock.schemas.formats import TEXT_BYTES_MAX, TYPES, parse
from penstock.schemas.schema import AVRO, ParsedSchema
from penstock.web import HttpError

REFERENCES_MAX: Final = 1_000
"""Schemas that one schema may refer to, and those in turn."""
REFERENCES_BYTES_MAX: Final = 4_000_000
REMEMBERED: Final = 512


def parse_request(state: State, subject: Subject, request: SchemaRequest, *, normalise: bool) -> Content:
    """The canonical content of a schema in a request, or 42201."""
    references = _latest_resolved(state, subject, request.references or [])
    if normalise:
        references = tuple(sorted(set(references), key=lambda each: (each.name, each.subject, each.version)))
    parsed = _parse_request(state, subject, request, references)
    canonical = parsed.normalised if normalise else parsed.canonical
    metadata, rule_set = encode_object(request.metadata), encode_object(request.rule_set)
    return Content(parsed.schema_type, canonical, references, metadata, rule_set)


def parse_text(state: State, subject: Subject, request: SchemaRequest) -> ParsedSchema:
    """The schema of a request, or 42201."""
    references = _latest_resolved(state, subject, request.references or [])
    return _parse_request(state, subject, request, references)


def _parse_request(
    state: State, subject: Subject, request: SchemaRequest, references: tuple[ReferenceValue, ...]
) -> ParsedSchema:
    """With `validateNewSchemas` false, defaults of Avro and drafts of JSON Schema are not checked."""
    text = request.schema
    if not text or not text.strip():
        raise invalid_schema("the schema is empty.")
    if len(text.encode(errors="replace")) > TEXT_BYTES_MAX:
        raise too_large(len(text), TEXT_BYTES_MAX)
    schema_type = request.schema_type or AVRO
    if schema_type not in TYPES:
        raise invalid_schema(f"schema type {schema_type[:80]!r} is none of {', '.join(TYPES)}.")
    strict = state.config(subject).validate_new_schemas is not False
    return _parse(schema_type, text, _texts(state, subject, references), strict=strict)


def parse_content(state: State, subject: Subject, content: Content | SchemaValue) -> ParsedSchema:
    """A schema that was taken already."""
    texts = _texts(state, subject, content.references)
    return _parse(content.schema_type, content.schema, texts, strict=False)


def same_schema(state: State, subject: Subject, one: Content, other: Content) -> bool:
    """Whether two contents of a subject are one schema, however their texts are laid out. Metadata and rules
    are compared as they are.
    """
    if one.digest == other.digest:
        return True
    parts = ((each.schema_type, each.references, each.metadata, each.rule_set) for each in (one, other))
    if next(parts) != next(parts):
        return False
    try:
        return parse_content(state, subject, one).identity == parse_content(state, subject, other).identity
    except HttpError:  # a stored text that the parser does not understand
        return False


def _parse(schema_type: str, text: str, texts: dict[str, str], *, strict: bool) -> ParsedSchema:
    try:
        return _remembered(schema_type, text, tuple(texts.items()), strict)
    except InvalidSchema as error:
        raise invalid_schema(str(error)) from error


@lru_cache(maxsize=REMEMBERED)
def _remembered(
    schema_type: str, text: str, texts: tuple[tuple[str, str], ...], strict: bool
) -> ParsedSchema:
    return parse(schema_type, text, dict(texts), strict=strict)


def _latest_resolved(
    state: State, subject: Subject, references: list[ReferenceValue]
) -> tuple[ReferenceValue, ...]:
    """The references with numbers for versions: -1 is the latest."""
    found = []
    for each in references:
        version = each.version
        if version == -1:
            versions = state.versions(target_of(subject, each))
            version = versions[-1].version if versions else -1
        found.append(ReferenceValue(each.name, each.subject, version))
    return tuple(found)


def _texts(state: State, subject: Subject, references: tuple[ReferenceValue, ...]) -> dict[str, str]:
    """The texts of all schemas that are referred to, directly or not, each after those that it needs."""
    found: dict[str, str] = {}
    seen: set[str] = set()
    left = [REFERENCES_MAX, REFERENCES_BYTES_MAX]

    def gather(around: Subject, wanted: tuple[ReferenceValue, ...]) -> None:
        for reference in wanted:
            if reference.name in seen:
                continue
            seen.add(reference.name)
            target = target_of(around, reference)
            value = next(
                (v for v in state.versions(target, deleted=True) if v.version == reference.version), None
            )
            if value is None:
                raise invalid_schema(
                    f'No schema reference found for subject "{target}" and version {reference.version}.'
                )
            left[0] -= 1
            left[1] -= len(value.schema)
            if min(left) < 0:
                raise invalid_schema(
                    f"it refers to more than {REFERENCES_MAX} schemas or {REFERENCES_BYTES_MAX} bytes."
                )
            gather(target, value.references)
            found[reference.name] = value.schema

    try:
        gather(subject, references)
    except RecursionError as error:
        raise invalid_schema("its references lead to references without end.") from error
    return found
