"""Who asks: the hooks through which every request passes before its body is read.

`Authenticate` says which caller it is, `Authorize` whether the caller may do what the route declares. Both
see the head of the request, never its body.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from penstock.security.client_settings import Sasl
from penstock.security.principals import ANONYMOUS, Principal

if TYPE_CHECKING:
    from penstock.web.routes import Route


@dataclass(frozen=True, slots=True)
class Caller:
    """One caller of a service."""

    principal: Principal
    host: str = ""
    """The address that the request came from, as access control entries name it."""
    sasl: Sasl | None = field(default=None, repr=False)
    """The credentials, where the broker knows them as well: a service can act for the caller with them."""
    roles: frozenset[str] = frozenset()
    """Of a password file."""


Authenticate = Callable[[Request, "Route"], Awaitable[Caller]]
"""Returns the caller, or raises HttpError 401, 403 or 503."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a caller wants, as far as path and query say."""

    caller: Caller
    route: Route
    path: Mapping[str, str]
    query: Mapping[str, Any]


Authorize = Callable[[Asked], Awaitable[None]]
"""Returns when the caller may, and raises HttpError 403 otherwise."""


async def allow_all(request: Request, _route: Route) -> Caller:
    """Every request is let in, without a password."""
    return anonymous(host_of(request))


@lru_cache(maxsize=1024)
def anonymous(host: str) -> Caller:
    """A caller that nobody has asked for a proof."""
    return Caller(ANONYMOUS, host)


async def permit_all(_asked: Asked) -> None:
    """Every caller may do everything."""


def host_of(request: Request) -> str:
    client = request.scope.get("client")
    return client[0] if client else ""
