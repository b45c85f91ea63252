"""A route as data: what it takes, what it gives, what it may refuse. OpenAPI is made of these."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response

from penstock.security.access import RouteAccess
from penstock.security.principals import Principal
from penstock.web.callers import Caller
from penstock.web.negotiation import MediaTypes


@dataclass(frozen=True, slots=True)
class Query:
    """A query parameter. `type` is `bool`, `int` or `str`; without a value in the request `default` holds."""

    name: str
    type: type = str
    default: Any = None
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """A refusal that a route may answer with."""

    status: int
    summary: str
    error_code: int | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One request as its handler sees it."""

    request: Request
    caller: Caller
    path: Mapping[str, str]
    """The values of the path's parameters, decoded."""
    query: Mapping[str, Any]
    """Every query parameter of the route, with the type that the route says."""
    body: Any
    """The decoded body, of the route's `body` type; None when the route has none."""
    media_type: str
    """The media type of the answer, which the client and the route agree on."""

    @property
    def principal(self) -> Principal:
        return self.caller.principal

    def flag(self, name: str) -> bool:
        return bool(self.query[name])

    def number(self, name: str) -> int:
        return cast(int, self.query[name])

    def text(self, name: str) -> str:
        return self.query[name] or ""


@dataclass(frozen=True, slots=True)
class Answer:
    """A handler's answer when it is not simply a value with the route's status."""

    value: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[[Call], Awaitable[Any]]
"""Returns a value to be written as JSON, an `Answer`, or a starlette `Response` (a stream, a raw body).

It runs in the event loop, so whatever blocks belongs into `asyncio.to_thread`.
"""


@dataclass(frozen=True, slots=True)
class Route:
    """One line of a service's table."""

    method: str
    path: str
    """Segments between slashes; `{name}` takes one whole segment, whatever is written in it as %2F."""
    handler: Handler
    summary: str
    access: RouteAccess = field(kw_only=True)
    """What a caller needs; a house test walks the tables of all services."""
    body: Any = None
    """What msgspec decodes the body to; None leaves the body to the handler (`call.request.stream()`)."""
    body_optional: bool = False
    """True when a request without a body is no mistake; `call.body` is None then."""
    body_streamed: bool = False
    """True when the handler reads the body itself, however long; `body` then only describes it."""
    returns: Any = None
    """What the answer looks like, for the document; None for an empty one."""
    status: int = 200
    query: tuple[Query, ...] = ()
    problems: tuple[Problem, ...] = ()
    media_types: MediaTypes | None = None
    """Other media types than the service's."""
    body_bytes_max: int | None = None
    """Another bound than the service's."""

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(self.path.strip("/").split("/")) if self.path != "/" else ()

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(part[1:-1] for part in self.segments if part.startswith("{"))


__all__ = ["Answer", "Call", "Handler", "Problem", "Query", "Response", "Route"]
