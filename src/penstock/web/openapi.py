"""The OpenAPI 3.1 document of a table of routes. Schemas of bodies and answers come from msgspec."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

import msgspec

from penstock.web.errors import ErrorBody
from penstock.web.negotiation import MediaTypes
from penstock.web.routes import Problem, Route

_REF: Final = "#/components/schemas/{name}"
_QUERY_SCHEMAS: Final = {bool: {"type": "boolean"}, int: {"type": "integer", "format": "int64"}}
_ALWAYS: Final = (Problem(500, "A bug of the service, or its store did not answer", 50001),)
_OF_BODIES: Final = (
    Problem(400, "The body is not JSON"),
    Problem(408, "The body did not arrive in time"),
    Problem(413, "The body is too large"),
    Problem(415, "Another media type than this path takes"),
    Problem(422, "The body has another form than this path takes"),
)


def document(
    title: str, version: str, summary: str, media_types: MediaTypes, routes: tuple[Route, ...]
) -> dict[str, Any]:
    """The whole document, ready to be encoded."""
    types = [
        ErrorBody,
        *(kind for route in routes for kind in (route.body, route.returns) if kind is not None),
    ]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    schema_of = {id(kind): schema for kind, schema in zip(types, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = defaultdict(dict)
    for route in routes:
        paths[route.path][route.method.lower()] = _operation(route, media_types, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version, "description": summary},
        "paths": dict(paths),
        "components": {"schemas": components},
    }


def _operation(route: Route, media_types: MediaTypes, schema_of: dict[int, Any]) -> dict[str, Any]:
    types = route.media_types or media_types
    operation: dict[str, Any] = {
        "summary": route.summary,
        "operationId": _operation_id(route),
        "responses": _responses(route, types, schema_of),
    }
    parameters = _parameters(route)
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None:
        content = {name: {"schema": schema_of[id(route.body)]} for name in types.consumed}
        operation["requestBody"] = {"required": not route.body_optional, "content": content}
    return operation


def _parameters(route: Route) -> list[dict[str, Any]]:
    of_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in route.parameters
    ]
    return of_path + [
        {
            "name": query.name,
            "in": "query",
            "required": False,
            "description": query.summary,
            "schema": _query_schema(query.type, query.default),
        }
        for query in route.query
    ]


def _query_schema(kind: type, default: Any) -> dict[str, Any]:
    schema: dict[str, Any] = dict(_QUERY_SCHEMAS.get(kind, {"type": "string"}))
    if default is not None:
        schema["default"] = default
    return schema


def _responses(route: Route, types: MediaTypes, schema_of: dict[int, Any]) -> dict[str, Any]:
    success: dict[str, Any] = {"description": "Success"}
    if route.returns is not None:
        schema = schema_of[id(route.returns)]
        success["content"] = {name: {"schema": schema} for name in types.produced}
    responses = {str(route.status): success}
    for status, summaries in _problems(route).items():
        content = {name: {"schema": schema_of[id(ErrorBody)]} for name in types.produced}
        responses[str(status)] = {"description": "; ".join(summaries), "content": content}
    return responses


def _problems(route: Route) -> dict[int, list[str]]:
    """The words for each status, without repetition."""
    told: dict[int, list[str]] = defaultdict(list)
    general = [*_ALWAYS, Problem(406, "No media type that the client accepts")]
    if route.body is not None:
        general += _OF_BODIES
    if route.query or route.parameters:
        general.append(Problem(400, "A parameter cannot be read"))
    for problem in (*route.problems, *general):
        code = f" ({problem.error_code})" if problem.error_code else ""
        told[problem.status].append(f"{problem.summary}{code}")
    return dict(sorted(told.items()))


def _operation_id(route: Route) -> str:
    words = [part.strip("{}").replace("-", "_") for part in route.segments] or ["root"]
    return "_".join([route.method.lower(), *words])
