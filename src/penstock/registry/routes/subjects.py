"""Subjects and their versions: list, register, look up, read, delete."""

from __future__ import annotations

from typing import Any

from penstock.registry import deleting, errors
from penstock.registry.content import Content, content_of
from penstock.registry.lookups import (
    aliased,
    find_version,
    find_with_metadata,
    list_subjects,
    locate,
    page,
    referenced_by,
    schema_answer,
)
from penstock.registry.parsing import parse_content, parse_request, same_schema
from penstock.registry.requests import SchemaAnswer, SchemaRequest, TagRequest
from penstock.registry.routes import access, problems
from penstock.registry.routes.texts import FIND_TAGS, FORMAT, REFERENCE_FORMAT, formatted, raw_schema, told
from penstock.registry.service import Registry
from penstock.registry.state import State
from penstock.registry.subjects import WILDCARD, Subject, parse_named, parse_subject
from penstock.registry.tagging import decide_register_tagged, decide_tags
from penstock.schemas.avro.schema import AvroSchema
from penstock.schemas.schema import AVRO
from penstock.web import Call, Query, Route
from penstock.web.routes import Response

DELETED = Query("deleted", bool, False, "Deleted ones too.")
DELETED_ONLY = Query("deletedOnly", bool, False, "Deleted ones only.")
NORMALIZE = Query("normalize", bool, False, "Bring the schema into its normal form first.")
KEY = Query("key", str, "", "A property of the metadata. May be repeated.")
VALUE = Query("value", str, "", "Its value. As often as keys.")
OFFSET = Query("offset", int, 0, "How many to pass over.")
LIMIT = Query("limit", int, -1, "How many at most; below zero, all.")
PERMANENT = Query("permanent", bool, False, "For good; it must have been deleted before.")
OF_VERSION = (problems.SUBJECT, problems.VERSION, problems.INVALID_VERSION)


def routes(registry: Registry) -> tuple[Route, ...]:
    api = _Subjects(registry)
    one, version = "/subjects/{subject}", "/subjects/{subject}/versions/{version}"
    refused = (problems.INVALID_SCHEMA, problems.INVALID_SUBJECT)
    writing = (*refused, problems.NOT_PERMITTED, problems.INVALID_RULES, problems.INCOMPATIBLE)
    prefix = Query("subjectPrefix", str, WILDCARD, "What the names begin with.")
    return (
        Route("GET", "/subjects", api.list, "The subjects.",
              access=access.LISTED, returns=list[str],
              query=(prefix, DELETED, DELETED_ONLY, OFFSET, LIMIT)),
        Route("POST", one, api.look_up, "Whether a schema is registered under a subject, and as what.",
              access=access.READ,
              body=SchemaRequest, returns=SchemaAnswer, query=(NORMALIZE, FORMAT, DELETED),
              problems=(problems.SUBJECT, problems.SCHEMA, *refused)),
        Route("DELETE", one, api.delete_subject, "Deletes a subject with its versions.",
              access=access.DELETE, returns=list[int],
              query=(PERMANENT,),
              problems=(problems.SUBJECT, problems.NOT_PERMITTED, problems.REFERENCED)),
        Route("GET", f"{one}/metadata", api.with_metadata, "The latest version with these properties.",
              access=access.READ,
              returns=SchemaAnswer, query=(KEY, VALUE, DELETED, FORMAT),
              problems=(problems.SUBJECT, problems.SCHEMA)),
        Route("GET", f"{one}/versions", api.versions, "The versions of a subject.",
              access=access.READ, returns=list[int],
              query=(DELETED, DELETED_ONLY, OFFSET, LIMIT), problems=(problems.SUBJECT,)),
        Route("POST", f"{one}/versions", api.register, "Registers a schema.",
              access=access.WRITE,
              body=SchemaRequest, returns=SchemaAnswer, query=(NORMALIZE, FORMAT), problems=writing),
        Route("GET", version, api.version, "A version of a subject.",
              access=access.READ, returns=SchemaAnswer,
              query=(DELETED, FORMAT, REFERENCE_FORMAT, FIND_TAGS), problems=OF_VERSION),
        Route("POST", f"{version}/tags", api.tag, "A new version with other tags.",
              access=access.WRITE,
              body=TagRequest, returns=SchemaAnswer, problems=(*OF_VERSION, *writing)),
        Route("DELETE", version, api.delete_version, "Deletes a version.",
              access=access.DELETE, returns=int, query=(PERMANENT,),
              problems=(*OF_VERSION, problems.NOT_PERMITTED, problems.REFERENCED)),
        Route("GET", f"{version}/schema", api.text, "The schema alone.",
              access=access.READ, query=(DELETED, FORMAT),
              problems=OF_VERSION),
        Route("GET", f"{version}/referencedby", api.referenced_by, "Ids of schemas that refer to it.",
              access=access.READ,
              returns=list[int], query=(DELETED, OFFSET, LIMIT), problems=OF_VERSION),
    )  # fmt: skip


class _Subjects:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def list(self, call: Call) -> Any:
        prefix, deleted, only = call.text("subjectPrefix"), call.flag("deleted"), call.flag("deletedOnly")
        found = self._registry.ask(lambda s: list_subjects(s, prefix, deleted=deleted, deleted_only=only))
        visible = await self._registry.rights.visible(call.caller, names_only=True)
        return page(list(filter(visible, found)), call.number("offset"), call.number("limit"))

    async def look_up(self, call: Call) -> Any:
        request: SchemaRequest = call.body
        await self._registry.rights.check_references(call.caller, request.references)
        return await self._registry.ask_at_length(lambda s: _look_up(s, call), len(request.schema or ""))

    async def register(self, call: Call) -> Any:
        subject, normalise = parse_named(call.path["subject"]), call.flag("normalize")
        await self._registry.rights.check_references(call.caller, call.body.references)
        return await self._registry.change(
            lambda s: decide_register_tagged(s, aliased(s, subject), call.body, normalise=normalise)
        )

    async def tag(self, call: Call) -> Any:
        subject, version = parse_named(call.path["subject"]), call.path["version"]
        return await self._registry.change(lambda s: decide_tags(s, aliased(s, subject), version, call.body))

    async def versions(self, call: Call) -> Any:
        subject = parse_subject(call.path["subject"])
        only = call.flag("deletedOnly")
        everything = self._registry.ask(lambda s: s.versions(aliased(s, subject), deleted=True))
        found = [
            each.version
            for each in everything
            if (each.deleted if only else call.flag("deleted") or not each.deleted)
        ]
        if not found:
            raise errors.subject_not_found(str(subject))
        return page(found, call.number("offset"), call.number("limit"))

    async def version(self, call: Call) -> SchemaAnswer:
        return self._registry.ask(lambda s: _version(s, call))

    async def with_metadata(self, call: Call) -> SchemaAnswer:
        given = call.request.query_params
        wanted = dict(zip(given.getlist("key"), given.getlist("value"), strict=False))
        subject = parse_subject(call.path["subject"])

        def ask(state: State) -> SchemaAnswer:
            value = find_with_metadata(state, aliased(state, subject), wanted, deleted=call.flag("deleted"))
            return schema_answer(state, value, text=formatted(state, value, call.text("format")))

        return self._registry.ask(ask)

    async def text(self, call: Call) -> Response:
        answer = self._registry.ask(lambda s: _version(s, call))
        return raw_schema(answer.schema or "", call)

    async def referenced_by(self, call: Call) -> Any:
        subject, deleted = parse_subject(call.path["subject"]), call.flag("deleted")

        def ask(state: State) -> Any:
            value = find_version(state, subject, call.path["version"], deleted=deleted)
            return referenced_by(state, subject, value.version, deleted=deleted)

        return page(self._registry.ask(ask), call.number("offset"), call.number("limit"))

    async def delete_version(self, call: Call) -> Any:
        subject, permanent = parse_subject(call.path["subject"]), call.flag("permanent")
        return await self._registry.change(
            lambda s: deleting.decide_delete_version(s, subject, call.path["version"], permanent=permanent)
        )

    async def delete_subject(self, call: Call) -> Any:
        subject, permanent = parse_subject(call.path["subject"]), call.flag("permanent")
        return await self._registry.change(
            lambda s: deleting.decide_delete_subject(s, subject, permanent=permanent)
        )


def _version(state: State, call: Call) -> SchemaAnswer:
    subject = locate(state, aliased(state, parse_subject(call.path["subject"])), deleted=call.flag("deleted"))
    value = find_version(state, subject, call.path["version"], deleted=call.flag("deleted"))
    return told(state, value, call)


def _look_up(state: State, call: Call) -> SchemaAnswer:
    subject = locate(state, aliased(state, parse_named(call.path["subject"])), deleted=call.flag("deleted"))
    versions = state.versions(subject, deleted=call.flag("deleted"))
    if not versions:
        raise errors.subject_not_found(str(subject))
    normalise = call.flag("normalize") or bool(state.config(subject).normalize)
    content = parse_request(state, subject, call.body, normalise=normalise)
    whole = call.body.metadata is not None or call.body.rule_set is not None
    for value in reversed(versions):
        known, content = content_of(value).unversioned, content.unversioned
        one, other = (known, content) if whole else (known.bare, content.bare)
        if same_schema(state, subject, one, other) or _is_inlined(state, subject, one, other):
            return schema_answer(state, value, text=formatted(state, value, call.text("format")))
    raise errors.schema_not_found()


def _is_inlined(state: State, subject: Subject, known: Content, asked: Content) -> bool:
    """Whether an Avro schema without references is a known one whose references are written out."""
    if asked.references or not known.references or not asked.schema_type == known.schema_type == AVRO:
        return False
    parsed = parse_content(state, subject, known)
    return isinstance(parsed, AvroSchema) and parsed.resolved == asked.schema
