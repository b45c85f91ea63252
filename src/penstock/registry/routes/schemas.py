"""Schemas by id and GUID, all of them, and the formats that there are."""

from __future__ import annotations

from typing import Any

from penstock.registry import errors
from penstock.registry.associations import of_subject
from penstock.registry.lookups import (
    aliases_of,
    find_id,
    has_rule_type,
    list_schemas,
    page,
    schema_answer,
    users_of,
)
from penstock.registry.requests import ContextId, SchemaAnswer, SubjectVersion
from penstock.registry.routes import access, problems
from penstock.registry.routes.subjects import DELETED, LIMIT, OFFSET
from penstock.registry.routes.texts import FIND_TAGS, FORMAT, REFERENCE_FORMAT, formatted, raw_schema, told
from penstock.registry.service import Registry
from penstock.registry.state import State
from penstock.registry.subjects import parse_subject
from penstock.schemas.formats import TYPES
from penstock.web import Call, Query, Route
from penstock.web.routes import Response

BOUND = {
    "resourceType": "resource_type",
    "associationType": "association_type",
    "lifecycle": "lifecycle",
}
"""Parts of associations that schemas are listed by."""
SUBJECT = Query("subject", str, "", "A subject whose context is meant.")


def routes(registry: Registry) -> tuple[Route, ...]:
    api = _Schemas(registry)
    by_id = "/schemas/ids/{id}"
    filters = (
        Query("subjectPrefix", str, "", "What the subjects begin with."),
        DELETED,
        Query("latestOnly", bool, False, "The latest version of each subject."),
        Query("aliases", bool, False, "With the aliases of each subject."),
        Query("ruleType", str, "", "Only schemas that have a rule of this type."),
        Query("resourceType", str, "", "Only subjects that a resource of this type has."),
        Query("associationType", str, "", "Only subjects of keys, or of values."),
        Query("lifecycle", str, "", "Only subjects with associations of this lifecycle."),
        OFFSET,
        LIMIT,
    )
    of_id = (problems.SCHEMA,)
    most = Query("fetchMaxId", bool, False, "The highest id, too.")
    return (
        Route("GET", "/schemas", api.list, "All schemas.",
              access=access.LISTED, returns=list[SchemaAnswer], query=filters),
        Route("GET", "/schemas/types", api.types, "The formats of schemas.",
              access=access.ANYBODY, returns=list[str]),
        Route("GET", by_id, api.by_id, "A schema by its id.",
              access=access.READ, returns=SchemaAnswer, problems=of_id,
              query=(SUBJECT, FORMAT, REFERENCE_FORMAT, FIND_TAGS, most)),
        Route("GET", f"{by_id}/schema", api.text, "The schema alone.",
              access=access.READ, query=(SUBJECT, FORMAT),
              problems=of_id),
        Route("GET", f"{by_id}/subjects", api.subjects, "The subjects that have an id.",
              access=access.READ, returns=list[str],
              query=(SUBJECT, DELETED, OFFSET, LIMIT), problems=of_id),
        Route("GET", f"{by_id}/versions", api.versions, "The versions that have an id.",
              access=access.READ,
              returns=list[SubjectVersion], query=(SUBJECT, DELETED, OFFSET, LIMIT), problems=of_id),
        Route("GET", "/schemas/guids/{guid}", api.by_guid, "A schema by its GUID.",
              access=access.READ, returns=SchemaAnswer,
              query=(FORMAT,), problems=of_id),
        Route("GET", "/schemas/guids/{guid}/ids", api.ids_of_guid, "The ids of a GUID, by context.",
              access=access.LISTED,
              returns=list[ContextId], problems=of_id),
    )  # fmt: skip


class _Schemas:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def list(self, call: Call) -> Any:
        prefix, latest = call.text("subjectPrefix"), call.flag("latestOnly")
        visible = await self._registry.rights.visible(call.caller)

        def ask(state: State) -> Any:
            listed = list_schemas(state, prefix, deleted=call.flag("deleted"), latest_only=latest)
            found = [value for value in listed if visible(value.subject)]
            if wanted := call.text("ruleType"):
                found = [value for value in found if has_rule_type(value, wanted)]
            if any(call.text(name) for name in BOUND):
                found = [value for value in found if _is_bound(state, value.subject, call)]
            chosen = page(found, call.number("offset"), call.number("limit"))
            answers = [schema_answer(state, value) for value in chosen]
            if call.flag("aliases"):
                for answer in answers:
                    answer.aliases = aliases_of(state, answer.subject or "") or None
            return answers

        return self._registry.ask(ask)

    async def types(self, _call: Call) -> Any:
        return list(TYPES)

    async def by_id(self, call: Call) -> SchemaAnswer:
        def ask(state: State) -> SchemaAnswer:
            value = find_id(state, call.path["id"], call.text("subject"))
            answer = told(state, value, call, bare=True)
            if call.flag("fetchMaxId"):
                answer.max_id = state.context(parse_subject(call.text("subject")).context).max_id
            return answer

        return self._registry.ask(ask)

    async def text(self, call: Call) -> Response:
        answer = self._registry.ask(
            lambda s: _text(s, call.path["id"], call.text("subject"), call.text("format"))
        )
        return raw_schema(answer, call)

    async def subjects(self, call: Call) -> Any:
        found = sorted({subject for subject, _ in await self._users(call)})
        return page(found, call.number("offset"), call.number("limit"))

    async def versions(self, call: Call) -> Any:
        found = [SubjectVersion(subject, version) for subject, version in await self._users(call)]
        return page(found, call.number("offset"), call.number("limit"))

    async def by_guid(self, call: Call) -> SchemaAnswer:
        def ask(state: State) -> SchemaAnswer:
            _, value = _by_guid(state, call.path["guid"])[0]
            return schema_answer(state, value, text=formatted(state, value, call.text("format")), bare=True)

        return self._registry.ask(ask)

    async def ids_of_guid(self, call: Call) -> Any:
        found = self._registry.ask(lambda s: _by_guid(s, call.path["guid"]))
        return [ContextId(context, value.id) for context, value in found]

    async def _users(self, call: Call) -> Any:
        visible = await self._registry.rights.visible(call.caller, names_only=True)

        def ask(state: State) -> Any:
            value = find_id(state, call.path["id"], call.text("subject"))
            users = users_of(state, value, deleted=call.flag("deleted"))
            return [(subject, version) for subject, version in users if visible(subject)]

        return self._registry.ask(ask)


def _is_bound(state: State, subject: str, call: Call) -> bool:
    """Whether one association of the subject has all that the query names."""
    wanted = [(field, call.text(name)) for name, field in BOUND.items() if call.text(name)]
    return any(
        all(getattr(each, field) == text for field, text in wanted) for each in of_subject(state, subject)
    )


def _text(state: State, schema_id: str, subject: str, form: str) -> str:
    value = find_id(state, schema_id, subject)
    return formatted(state, value, form) or value.schema


def _by_guid(state: State, guid: str) -> Any:
    found = state.by_guid(guid)
    if not found:
        raise errors.schema_not_found(guid[:40])
    return found
