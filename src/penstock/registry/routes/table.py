"""All routes of the registry."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.clock import SystemClock
from penstock.registry.routes import (
    about,
    associations,
    compatibility,
    exporters,
    problems,
    schemas,
    settings,
    subjects,
)
from penstock.registry.service import Registry
from penstock.registry.state import State
from penstock.web import Call, HttpError, MediaTypes, Route

V1 = "application/vnd.schemaregistry.v1+json"
_TYPES = (V1, "application/vnd.schemaregistry+json", "application/json")
MEDIA_TYPES = MediaTypes(_TYPES, (*_TYPES, "application/octet-stream"))


def routes(registry: Registry, cluster_id: str, group_id: str, *, mode_mutability: bool) -> tuple[Route, ...]:
    found = (
        *about.routes(registry, cluster_id, group_id),
        *subjects.routes(registry),
        *schemas.routes(registry),
        *compatibility.routes(registry),
        *associations.routes(registry),
        *exporters.routes(registry, SystemClock()),
        *settings.routes(registry, mode_mutability=mode_mutability),
    )
    return tuple(_with_invalid_subject(_looking_again(route, registry)) for route in found)


def _looking_again(route: Route, registry: Registry) -> Route:
    """What is not here may have been written by another registry, or another worker, this moment."""
    handler = route.handler

    async def look(call: Call) -> Any:
        before = registry.ask(_itself)
        try:
            return await handler(call)
        except HttpError as error:
            if error.status != 404:
                raise
            await registry.catch_up()
            if registry.ask(_itself) is before:  # nor has the reader come on by itself meanwhile
                raise
        return await handler(call)

    return replace(route, handler=look)


def _itself(state: State) -> State:
    return state


def _with_invalid_subject(route: Route) -> Route:
    """Whatever takes a subject may find that it is none."""
    names = {*route.parameters, *(query.name for query in route.query)}
    if not names & {"subject", "subjectPrefix"} or problems.INVALID_SUBJECT in route.problems:
        return route
    return replace(route, problems=(*route.problems, problems.INVALID_SUBJECT))
