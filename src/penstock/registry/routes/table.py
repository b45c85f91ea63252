"""All routes of the registry, and those that tell of the registry itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock import __version__
from penstock.registry.decisions import decide_delete_context
from penstock.registry.lookups import page
from penstock.registry.routes import access, compatibility, problems, schemas, settings, subjects
from penstock.registry.routes.subjects import LIMIT, OFFSET
from penstock.registry.service import Registry
from penstock.web import Call, MediaTypes, Problem, Route

V1 = "application/vnd.schemaregistry.v1+json"
_TYPES = (V1, "application/vnd.schemaregistry+json", "application/json")
MEDIA_TYPES = MediaTypes(_TYPES, (*_TYPES, "application/octet-stream"))


def routes(registry: Registry, cluster_id: str, group_id: str, *, mode_mutability: bool) -> tuple[Route, ...]:
    async def root(_call: Call) -> Any:
        return {}

    async def contexts(call: Call) -> Any:
        found = registry.ask(lambda s: sorted(s.contexts))
        return page(found, call.number("offset"), call.number("limit"))

    async def delete_context(call: Call) -> None:
        name = call.path["context"]
        context = name if name.startswith(".") else f".{name}"
        await registry.change(lambda s: decide_delete_context(s, context))

    async def server_id(_call: Call) -> Any:
        scope = {"path": [], "clusters": {"kafka-cluster": cluster_id, "schema-registry-cluster": group_id}}
        return {"scope": scope, "id": ""}

    async def server_version(_call: Call) -> Any:
        return {"version": __version__, "commitId": ""}

    found = (
        Route(
            "GET", "/", root, "Nothing: the registry is there.", access=access.ANYBODY, returns=dict[str, Any]
        ),
        Route(
            "POST",
            "/",
            root,
            "Nothing: the registry is there.",
            access=access.ANYBODY,
            returns=dict[str, Any],
        ),
        Route(
            "GET",
            "/contexts",
            contexts,
            "The contexts.",
            access=access.LISTED,
            returns=list[str],
            query=(OFFSET, LIMIT),
        ),
        Route(
            "GET",
            "/v1/metadata/id",
            server_id,
            "Which cluster this is.",
            access=access.ANYBODY,
            returns=dict[str, Any],
        ),
        Route(
            "GET",
            "/v1/metadata/version",
            server_version,
            "The version.",
            access=access.ANYBODY,
            returns=dict[str, str],
        ),
        Route(
            "DELETE",
            "/contexts/{context}",
            delete_context,
            "Deletes a context without subjects.",
            access=access.CHANGE_GLOBAL_RULES,
            status=204,
            problems=(Problem(404, "Context not found"), problems.NOT_PERMITTED),
        ),
        *subjects.routes(registry),
        *schemas.routes(registry),
        *compatibility.routes(registry),
        *settings.routes(registry, mode_mutability=mode_mutability),
    )
    return tuple(_with_invalid_subject(route) for route in found)


def _with_invalid_subject(route: Route) -> Route:
    """Whatever takes a subject may find that it is none."""
    names = {*route.parameters, *(query.name for query in route.query)}
    if not names & {"subject", "subjectPrefix"} or problems.INVALID_SUBJECT in route.problems:
        return route
    return replace(route, problems=(*route.problems, problems.INVALID_SUBJECT))
