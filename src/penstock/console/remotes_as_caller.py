"""The other services as a caller of the console reaches them: with the caller's own credentials.

The credentials go to the addresses of those services and nowhere else. A viewer that the services cannot be
shown changes nothing through them.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, Final

import httpx

from penstock.client.direct import client_settings
from penstock.client.schema_registry import SchemaRegistry, basic
from penstock.console.remotes import Addresses, Remotes
from penstock.console.seats import Role
from penstock.security.client_settings import Sasl
from penstock.web.callers import Caller
from penstock.wire.tls import client_context

_READS: Final = ("GET", "HEAD")


class CallersTransport(httpx.AsyncBaseTransport):
    def __init__(
        self, inner: httpx.AsyncBaseTransport, addresses: Addresses, caller: Caller, role: Role
    ) -> None:
        self._inner, self._caller = inner, caller
        self._origins = {
            _origin(url) for url in (addresses.registry, addresses.connect, addresses.sql) if url
        }
        self._authorization = "" if caller.sasl is None else authorization(caller.sasl)
        self._reads_only = role is Role.VIEWER and caller.sasl is None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if _origin(str(request.url)) in self._origins:
            if self._reads_only and request.method not in _READS:
                told = {"error_code": 40301, "message": f"{self._caller.principal} is a viewer."}
                return httpx.Response(403, json=told, request=request)
            if self._authorization:
                request.headers["Authorization"] = self._authorization
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


def callers_remotes(
    addresses: Addresses, trusted: ssl.SSLContext | None, caller: Caller, role: Role
) -> Remotes:
    inner = httpx.AsyncHTTPTransport(verify=True if trusted is None else trusted)
    return Remotes.at(addresses, CallersTransport(inner, addresses, caller, role))


def trusted_by(texts: Mapping[str, Any]) -> ssl.SSLContext | None:
    """Whose certificates the console believes: the same as its Kafka client does."""
    tls = client_settings(texts).tls
    return None if tls is None else client_context(tls)


def registry_for(url: str, texts: Mapping[str, Any], sasl: Sasl | None = None) -> SchemaRegistry | None:
    """The registry that decodes records: asked with these credentials, or with the console's own."""
    if not url:
        return None
    settings = client_settings(texts)
    who = sasl or settings.sasl
    shown = "" if who is None or not (who.username or who.login) else authorization(who)
    return SchemaRegistry(url, authorization=shown, tls=settings.tls)


def authorization(sasl: Sasl) -> str:
    """The header for credentials that a broker takes."""
    return f"Bearer {sasl.login.token}" if sasl.login is not None else basic(sasl.username, sasl.password)


def _origin(url: str) -> tuple[str, str, int | None]:
    found = httpx.URL(url)
    return found.scheme, found.host, found.port
