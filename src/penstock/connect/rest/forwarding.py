"""A worker that does not drive hands requests about connectors on to the worker that does."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from penstock.security.client_settings import Tls
from penstock.web.application import BODY_BYTES_MAX, App
from penstock.web.bodies import read_body
from penstock.web.errors import HttpError, encode
from penstock.web.threads import Threads
from penstock.wire.direct_http import open_direct
from penstock.wire.tls import client_context

TIMEOUT_S: Final = 90.0
AT_ONCE: Final = 32
_ELECTING: Final = (
    "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
)


class Driver:
    """Which worker drives, as the election last reported."""

    def __init__(self) -> None:
        self.here = False
        self.url = ""

    def elected(self, here: bool, url: str) -> None:
        self.here, self.url = here, url


class Forwarding:
    """The application of a worker, in front of which this stands."""

    def __init__(self, app: App, driver: Driver, tls: Tls | None = None) -> None:
        """`tls` is how other workers are believed, where they speak HTTPS."""
        self._app, self._driver, self._tls = app, driver, tls
        self._threads: Threads | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._driver.here or not scope["path"].startswith("/connectors"):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive, send)
        try:
            response = await self._forwarded(request)
        except HttpError as error:
            response = Response(encode(error), error.status, media_type="application/json")
        await response(scope, receive, send)

    async def _forwarded(self, request: Request) -> Response:
        if not self._driver.url or request.query_params.get("forward") == "false":
            raise HttpError(409, _ELECTING)
        body = await read_body(request, BODY_BYTES_MAX)
        self._threads = self._threads or Threads(AT_ONCE, "forwarding")
        path = request.scope.get("raw_path", b"").decode("ascii", "replace").partition("?")[0]
        query = request.url.query
        url = f"{self._driver.url}{path}?{query + '&' if query else ''}forward=false"
        kind = request.headers.get("content-type", "application/json")
        headers = {"Content-Type": kind}
        if given := request.headers.get("authorization"):  # the driver asks who the caller is
            headers["Authorization"] = given
        context = client_context(self._tls) if self._tls is not None and url.startswith("https:") else None
        return await self._threads.call(_asked, request.method, url, body, headers, context)


def _asked(
    method: str, url: str, body: bytes, headers: dict[str, str], context: ssl.SSLContext | None
) -> Response:
    asked = urllib.request.Request(url, data=body or None, method=method, headers=headers)
    try:
        with open_direct(asked, TIMEOUT_S, context) as answer:
            return Response(answer.read(), answer.status, media_type="application/json")
    except urllib.error.HTTPError as refused:
        wanted = refused.headers.get("WWW-Authenticate")
        told = {"WWW-Authenticate": wanted} if wanted else None
        return Response(refused.read(), refused.code, told, "application/json")
    except OSError as error:
        raise HttpError(409, f"{_ELECTING} ({error})") from error
