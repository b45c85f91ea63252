"""Schemas by id and GUID, all of them, and the formats that there are."""

from __future__ import annotations

from typing import Any

from penstock.registry import errors
from penstock.registry.lookups import find_id, list_schemas, page, schema_answer, users_of
from penstock.registry.requests import ContextId, SchemaAnswer, SubjectVersion
from penstock.registry.routes import access, problems
from penstock.registry.routes.subjects import DELETED, FORMAT, LIMIT, OFFSET
from penstock.registry.routes.texts import formatted, raw_schema
from penstock.registry.service import Registry
from penstock.registry.state import State
from penstock.registry.subjects import parse_subject
from penstock.schemas.formats import TYPES
from penstock.web import Call, Query, Route
from penstock.web.routes import Response

SUBJECT = Query("subject", str, "", "A subject whose context is meant.")


def routes(registry: Registry) -> tuple[Route, ...]:
    api = _Schemas(registry)
    by_id = "/schemas/ids/{id}"
    filters = (
        Query("subjectPrefix", str, "", "What the subjects begin with."),
        DELETED,
        Query("latestOnly", bool, False, "The latest version of each subject."),
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
              query=(SUBJECT, FORMAT, most)),
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

        def ask(state: State) -> Any:
            found = list(list_schemas(state, prefix, deleted=call.flag("deleted"), latest_only=latest))
            chosen = page(found, call.number("offset"), call.number("limit"))
            return [schema_answer(state, value) for value in chosen]

        return self._registry.ask(ask)

    async def types(self, _call: Call) -> Any:
        return list(TYPES)

    async def by_id(self, call: Call) -> SchemaAnswer:
        def ask(state: State) -> SchemaAnswer:
            value = find_id(state, call.path["id"], call.text("subject"))
            answer = schema_answer(state, value, text=formatted(state, value, call.text("format")), bare=True)
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
        return page(
            sorted({subject for subject, _ in self._users(call)}), call.number("offset"), call.number("limit")
        )

    async def versions(self, call: Call) -> Any:
        found = [SubjectVersion(subject, version) for subject, version in self._users(call)]
        return page(found, call.number("offset"), call.number("limit"))

    async def by_guid(self, call: Call) -> SchemaAnswer:
        def ask(state: State) -> SchemaAnswer:
            _, value = _by_guid(state, call.path["guid"])[0]
            return schema_answer(state, value, text=formatted(state, value, call.text("format")), bare=True)

        return self._registry.ask(ask)

    async def ids_of_guid(self, call: Call) -> Any:
        found = self._registry.ask(lambda s: _by_guid(s, call.path["guid"]))
        return [ContextId(context, value.id) for context, value in found]

    def _users(self, call: Call) -> Any:
        def ask(state: State) -> Any:
            value = find_id(state, call.path["id"], call.text("subject"))
            return users_of(state, value, deleted=call.flag("deleted"))

        return self._registry.ask(ask)


def _text(state: State, schema_id: str, subject: str, form: str) -> str:
    value = find_id(state, schema_id, subject)
    return formatted(state, value, form) or value.schema


def _by_guid(state: State, guid: str) -> Any:
    found = state.by_guid(guid)
    if not found:
        raise errors.schema_not_found(guid[:40])
    return found
