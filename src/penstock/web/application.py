"""`make_app`: a service's table of routes as an ASGI application.

A request passes through here in one order: origin, route, authentication, query, authorization, media types,
body, handler, answer.
Whatever refuses it raises HttpError, which becomes a body in one place.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from penstock.metrics.process import process_samples
from penstock.metrics.text import CONTENT_TYPE, Sample, render
from penstock.security.access import Open
from penstock.web.bodies import decode_body, read_body
from penstock.web.callers import Asked, Authenticate, Authorize, allow_all, permit_all
from penstock.web.errors import HttpError, encode
from penstock.web.metrics import HttpMetrics, Served
from penstock.web.negotiation import (
    JSON,
    PLAIN_JSON,
    MediaTypes,
    check_consumed,
    choose_produced,
    header,
)
from penstock.web.openapi import document
from penstock.web.origins import SAFE, check_origin
from penstock.web.parameters import read_query
from penstock.web.request_ids import REQUEST_ID, note_request, request_id
from penstock.web.routes import Answer, Call, Route
from penstock.web.routing import Router

BODY_BYTES_MAX: Final = 10 * 1024 * 1024
_REQUEST_ID: Final = REQUEST_ID.lower().encode()
_log = logging.getLogger(__name__)

App = Callable[[Scope, Receive, Send], Awaitable[None]]
Lifespan = Callable[[], AbstractAsyncContextManager[None]]
"""What holds while the service runs: entered before the first request, left after the last."""


@dataclass(frozen=True, slots=True)
class Service:
    """What a service is, besides its routes."""

    title: str
    version: str
    summary: str
    media_types: MediaTypes = PLAIN_JSON
    body_bytes_max: int = BODY_BYTES_MAX
    authenticate: Authenticate = allow_all
    authorize: Authorize = permit_all
    lifespan: Lifespan | None = None
    metrics: Callable[[], Iterable[Sample]] = tuple
    """Numbers of its own, beside those of its requests; read by each scrape, in a thread."""
    error_body: Callable[[HttpError], bytes] = encode
    """How a refusal is written."""


def make_app(service: Service, routes: tuple[Route, ...]) -> App:
    """The application, with its own description at /openapi.json and its numbers at /metrics."""
    described = document(service.title, service.version, service.summary, service.media_types, routes)
    encoded = msgspec.json.encode(described)

    async def openapi(_call: Call) -> Response:
        return Response(encoded, media_type=JSON)

    counted = HttpMetrics()

    async def metrics(_call: Call) -> Response:
        own = await asyncio.to_thread(lambda: tuple(service.metrics()))
        return Response(render((*counted.samples(), *own, *process_samples())), media_type=CONTENT_TYPE)

    openapi_route = Route(
        "GET",
        "/openapi.json",
        openapi,
        "This document.",
        media_types=PLAIN_JSON,
        access=Open("the document describes the service, not its data"),
    )
    metrics_route = Route(
        "GET",
        "/metrics",
        metrics,
        "Numbers of the service, for Prometheus.",
        media_types=MediaTypes(produced=("text/plain",)),
        access=Open("numbers of requests, without their data"),
    )
    own = (openapi_route, metrics_route, *_health_routes({route.path for route in routes}))
    return _Application(service, (*routes, *own), counted)


def _health_routes(taken: Collection[str]) -> Iterator[Route]:
    """`/health` and `/ready`, unless the service has paths of that name. A service listens only when it can
    serve, so both say the same."""

    async def alive(_call: Call) -> Response:
        return Response(b'{"status":"UP"}', media_type=JSON)

    for path in ("/health", "/ready"):
        if path not in taken:
            yield Route(
                "GET",
                path,
                alive,
                "Whether the service serves.",
                media_types=PLAIN_JSON,
                access=Open("that it serves, nothing of its data"),
            )


class _Application:
    def __init__(self, service: Service, routes: tuple[Route, ...], metrics: HttpMetrics) -> None:
        self._service = service
        self._metrics = metrics
        self._router = Router(routes)
        bodies = [route.body for route in routes if route.body is not None]
        self._decoders = {id(body): msgspec.json.Decoder(body) for body in bodies}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(self._service.lifespan, receive, send)
        elif scope["type"] == "http":
            request = Request(scope, receive, send)
            given = {REQUEST_ID: header(request, _REQUEST_ID)}
            with self._metrics.serving(request.method) as served, request_id(given) as number:
                began = time.monotonic()
                answer = await self._respond(request, served)
                served.status = answer.status_code
                if isinstance(answer, Whole):
                    await answer.send(send, number)
                else:
                    answer.headers[REQUEST_ID] = number
                    await answer(scope, receive, send)
                note_request(request.method, scope["path"], answer.status_code, time.monotonic() - began)
        else:
            raise HttpError(400, f"This service speaks HTTP, not {scope['type']}.")

    async def _respond(self, request: Request, served: Served) -> Response | Whole:
        media_type = self._service.media_types.produced[0]
        try:
            if request.method not in SAFE:
                check_origin(request)
            path = request.scope.get("raw_path") or request.scope["path"].encode()
            route, values = self._router.find(request.method, path)
            served.path = route.path
            caller = await self._service.authenticate(request, route)
            query = read_query(request, route.query)
            if self._service.authorize is not permit_all:
                await self._service.authorize(Asked(caller, route, values, query))
            types = route.media_types or self._service.media_types
            media_type = choose_produced(header(request, b"accept"), types)
            body = await self._body(request, route, types)
            call = Call(request, caller, values, query, body, media_type)
            return _write(await route.handler(call), route, media_type)
        except HttpError as error:
            return Whole(error.status, self._service.error_body(error), media_type, error.headers)
        except Exception:
            _log.exception("%s %s failed", request.method, request.url.path)
            broken = HttpError(500, "Internal Server Error", 50001)
            return Whole(500, self._service.error_body(broken), media_type)

    async def _body(self, request: Request, route: Route, types: MediaTypes) -> Any:
        if route.body is None or route.body_streamed:
            return None
        data = await read_body(request, route.body_bytes_max or self._service.body_bytes_max)
        if not data.strip():
            if route.body_optional:
                return None
            raise HttpError(422, "This path takes a body, and the request has none.")
        check_consumed(header(request, b"content-type"), types)
        return decode_body(data, self._decoders[id(route.body)])


class Whole(NamedTuple):
    """An answer that is complete, written without a detour."""

    status_code: int
    body: bytes = b""
    media_type: str = ""
    headers: Mapping[str, str] | None = None

    async def send(self, send: Send, number: str) -> None:
        """With the request's id."""
        headers = [(_REQUEST_ID, number.encode())]
        if self.status_code not in (204, 304):
            headers.append((b"content-length", str(len(self.body)).encode()))
        if self.media_type:
            headers.append((b"content-type", self.media_type.encode("latin-1")))
        for name, value in (self.headers or {}).items():
            headers.append((name.lower().encode("latin-1"), value.encode("latin-1")))
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def _write(answer: Any, route: Route, media_type: str) -> Response | Whole:
    if isinstance(answer, Response):
        return answer
    status, headers = route.status, None
    if isinstance(answer, Answer):
        status, headers, answer = answer.status, answer.headers, answer.value
    if answer is None and (status == 204 or route.returns is None):
        return Whole(status, headers=headers)
    return Whole(status, msgspec.json.encode(answer), media_type, headers)


async def _live(lifespan: Lifespan | None, receive: Receive, send: Send) -> None:
    """ASGI's protocol of start and end."""
    await receive()
    if lifespan is None:
        await send({"type": "lifespan.startup.complete"})
        await receive()
    else:
        async with lifespan():
            await send({"type": "lifespan.startup.complete"})
            await receive()
    await send({"type": "lifespan.shutdown.complete"})
