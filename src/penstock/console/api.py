"""The console's JSON API.

    GET    /api/cluster                     the cluster and its brokers GET    /api/topics?search=&internal=
    topics with records and rates POST   /api/topics                      {"name", "partitions",
    "replication_factor", "configs"} GET    /api/topics/{name}               partitions with their offsets,
    and settings DELETE /api/topics/{name} GET
    /api/topics/{name}/messages?from=newest|oldest|offset|timestamp&partition=&limit=&cursor=&max_bytes= POST
    /api/topics/{name}/messages      {"key", "value", "headers": [{"name", "value"}], "partition"}

An error is `{"error": {"code", "message"}}` with a sentence for people. Lists come from the shared feed, so
that a thousand callers cost the broker one question a second.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from penstock.client.errors import (
    BrokerUnreachable,
    ClientError,
    InvalidValue,
    PartitionNotFound,
    TopicExists,
    TopicNotFound,
    Unsupported,
)
from penstock.client.sending import NewRecord
from penstock.console.overview import POLL_S
from penstock.console.query import parse_number, parse_query
from penstock.console.services import Services
from penstock.console.shapes import (
    cluster_shape,
    page_shape,
    produced_shape,
    topic_detail_shape,
    topic_shape,
)

BODY_BYTES_MAX = 4 * 1024 * 1024
VALUE_BYTES = 64 * 1024
VALUE_BYTES_MAX = 1024 * 1024

STATUS: dict[type[ClientError], int] = {
    BrokerUnreachable: 503,
    TopicNotFound: 404,
    PartitionNotFound: 404,
    TopicExists: 409,
    InvalidValue: 400,
    Unsupported: 501,
}

Handler = Callable[[Request], Awaitable[Response]]


def api_routes(services: Services) -> list[Route]:
    api = Api(services)
    return [
        Route("/api/cluster", _answering(api.cluster)),
        Route("/api/topics", _answering(api.topics), methods=["GET"]),
        Route("/api/topics", _answering(api.create_topic), methods=["POST"]),
        Route("/api/topics/{name}", _answering(api.topic), methods=["GET"]),
        Route("/api/topics/{name}", _answering(api.delete_topic), methods=["DELETE"]),
        Route("/api/topics/{name}/messages", _answering(api.messages), methods=["GET"]),
        Route("/api/topics/{name}/messages", _answering(api.produce), methods=["POST"]),
        Route("/api/{rest:path}", _answering(api.unknown), methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
    ]


class Api:
    """One method for each route."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._backend = services.backend

    async def cluster(self, request: Request) -> Response:
        overview = await self._services.overview.current(2 * POLL_S)
        return JSONResponse(cluster_shape(overview.snapshot, self._backend.bootstrap_servers))

    async def topics(self, request: Request) -> Response:
        overview = await self._services.overview.current(2 * POLL_S)
        search = request.query_params.get("search", "").casefold()
        internal = request.query_params.get("internal", "false").lower() in ("true", "1", "yes")
        chosen = [t for t in overview.topics if search in t.name.casefold() and (internal or not t.internal)]
        return JSONResponse({"topics": [topic_shape(topic) for topic in chosen]})

    async def create_topic(self, request: Request) -> Response:
        body = await _json_object(request)
        name = _field(body, "name", str)
        configs = {str(key): str(value) for key, value in (_field(body, "configs", dict) or {}).items()}
        await self._backend.create_topic(
            name or "", _field(body, "partitions", int), _field(body, "replication_factor", int), configs
        )
        self._services.overview.refresh()
        return JSONResponse({"name": name}, 201)

    async def topic(self, request: Request) -> Response:
        return JSONResponse(topic_detail_shape(await self._backend.topic(request.path_params["name"])))

    async def delete_topic(self, request: Request) -> Response:
        await self._backend.delete_topic(request.path_params["name"])
        self._services.overview.refresh()
        return Response(status_code=204)

    async def messages(self, request: Request) -> Response:
        query = parse_query(request.path_params["name"], request.query_params)
        asked = request.query_params.get("max_bytes", "")
        max_bytes = parse_number("max_bytes", asked, least=1, most=VALUE_BYTES_MAX) if asked else VALUE_BYTES
        return JSONResponse(page_shape(await self._backend.messages(query), max_bytes))

    async def produce(self, request: Request) -> Response:
        body = await _json_object(request)
        headers = tuple(_header(header) for header in _field(body, "headers", list) or ())
        record = NewRecord(
            _encoded(_field(body, "value", str)),
            _encoded(_field(body, "key", str)),
            headers,
            _field(body, "partition", int),
        )
        produced = await self._backend.produce(request.path_params["name"], record)
        return JSONResponse(produced_shape(produced), 201)

    async def unknown(self, request: Request) -> Response:
        sentence = (
            f"There is no {request.method} {request.url.path}. The paths are listed in the documentation."
        )
        return _error(404, "not_found", sentence)


def _answering(handler: Handler) -> Handler:
    """The handler, with every client error as a status, a code and a sentence."""

    @functools.wraps(handler)
    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except ClientError as error:
            return _error(STATUS.get(type(error), 502), error.code, str(error))

    return answer


def _error(status: int, code: str, sentence: str) -> JSONResponse:
    return JSONResponse({"error": {"code": code, "message": sentence}}, status)


async def _json_object(request: Request) -> dict[str, Any]:
    """The body as a JSON object. The content type is checked because a form of another site cannot set it."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/json":
        raise InvalidValue(f"The content type {kind!r} is not accepted. Send application/json.")
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > BODY_BYTES_MAX:
            raise InvalidValue(f"The body is larger than {BODY_BYTES_MAX} bytes. Send a smaller one.")
        chunks.append(chunk)
    try:
        body = json.loads(b"".join(chunks))
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"The body is not JSON ({error}). Send a JSON object.") from None
    if not isinstance(body, dict):
        raise InvalidValue(f"The body is a JSON {type(body).__name__}. Send a JSON object.")
    return body


def _field(body: dict[str, Any], name: str, kind: type) -> Any:
    value = body.get(name)
    if value is None or (isinstance(value, kind) and not isinstance(value, bool)):
        return value
    words = {str: "a string", int: "a whole number", list: "an array", dict: "an object"}
    raise InvalidValue(f"{name!r} is {value!r:.80}. It must be {words[kind]}, or left out.")


def _header(header: Any) -> tuple[str, bytes | None]:
    if not isinstance(header, dict) or not isinstance(header.get("name"), str):
        raise InvalidValue(f'The header {header!r:.80} is not one. Write {{"name": "…", "value": "…"}}.')
    return header["name"], _encoded(_field(header, "value", str))


def _encoded(text: str | None) -> bytes | None:
    try:
        return None if text is None else text.encode()
    except UnicodeEncodeError:
        raise InvalidValue(f"{text!r:.80} has half a surrogate pair. Write whole characters.") from None
