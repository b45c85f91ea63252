"""Which requests the console serves: an ASGI layer around the API, the pages and their socket.

- A page of another site may neither write nor read through a visitor's browser: a request or a socket with an
  Origin must have that of its own Host. Programs that are not browsers send none.
- A name that an attacker points at this machine (DNS rebinding) is refused: while the console listens on a
  loopback address only, Host must be one too; otherwise it must be one of `allowed_hosts`, when some are
  given.
- Every answer carries a content security policy. NiceGUI compiles its templates in the browser, so inline
  scripts and `eval` must stay allowed; nothing may come from, or be sent to, another origin.

Who the caller is, is asked by `gate`, which stands inside. A console without a login listens on 127.0.0.1
unless told otherwise.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ANSWER_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer a form would not say that it is of the console
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    def __init__(self, app: ASGIApp, *, listen_host: str, allowed_hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._allowed = frozenset(host.lower() for host in allowed_hosts)
        self._loopback_only = is_loopback(listen_host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._host_refusal(headers) or _origin_refusal(headers)
        if refusal is not None:
            await _refuse(scope, send, refusal)
            return
        await self._app(scope, receive, _with_headers(send))

    def _host_refusal(self, headers: Headers) -> str | None:
        host = _host_name(headers.get("host", ""))
        if host in self._allowed or (self._loopback_only and is_loopback(host)):
            return None
        if not self._loopback_only and not self._allowed:
            return None
        return (
            f"The console does not answer to the name {host!r}. Open it by the address it listens on, "
            "or start it with that name among its allowed hosts."
        )


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _origin_refusal(headers: Headers) -> str | None:
    origin = headers.get("origin")
    if origin is None:
        return None
    if urlsplit(origin).netloc.lower() == headers.get("host", "").lower():
        return None
    return f"A page of {origin} may not use the console. Use the console's own pages, or no browser at all."


def _host_name(host: str) -> str:
    """`Host` without its port and without the brackets of an IPv6 address."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


async def _refuse(scope: Scope, send: Send, sentence: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": "refused"})
        return
    body = json.dumps({"error_code": 403, "message": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _with_headers(send: Send) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in ANSWER_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return wrapped
