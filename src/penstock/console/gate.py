"""Login: an ASGI layer inside the guard, through which every page, socket and API call passes.

- A person logs in at `/login` and gets a session in a cookie, which no script can read and no other site can
  make a browser send (`SameSite=Strict`). A program sends an Authorization header with each call.
- A call by cookie that changes something, and the login itself, must come from a page of the console.
  Browsers say so by `Origin` or `Sec-Fetch-Site`, and a request that says neither is refused.
- A socket of a page ends with its session.

A console whose door asks nobody has no gate.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.console.login_page import login_page
from penstock.console.seats import Role, Seat, Seats, role_of
from penstock.console.sessions import Failures, Sessions
from penstock.security.authorizer import Authorizer
from penstock.web.bodies import read_body
from penstock.web.callers import Caller, host_of
from penstock.web.door import Door
from penstock.web.errors import HttpError

SEAT: Final = "penstock.seat"
CALLER: Final = "penstock.caller"
"""Where pages find their seat and their caller, in the state of the scope."""
LOGIN, LOGOUT, ME, ASSETS = "/login", "/logout", "/api/me", "/assets/"
FORM_BYTES_MAX: Final = 8 * 1024
SAFE: Final = ("GET", "HEAD", "OPTIONS")


class Gate:
    def __init__(
        self,
        app: ASGIApp,
        door: Door,
        seats: Seats,
        authorizer: Callable[[], Awaitable[Authorizer]],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app, self._door, self._seats, self._authorizer = app, door, seats, authorizer
        self._sessions, self._failures = Sessions(now), Failures(now)
        self._is_https = door.settings.tls is not None
        self._cookie = "__Host-penstock" if self._is_https else "penstock"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        elif scope["type"] == "http" and not scope["path"].startswith(ASSETS):
            await self._http(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        try:
            if scope["path"] in (LOGIN, LOGOUT):
                response: Response | None = await self._log_in_or_out(request)
            else:
                response = await self._admit(request)
        except HttpError as error:
            response = _refusal(error)
        if response is not None:
            await response(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _admit(self, request: Request) -> Response | None:
        """None when the request may go on; its scope then has the seat."""
        path = request.url.path
        of_api = path.startswith("/api/") or path in ("/api", "/metrics", "/openapi.json")
        caller = self._by_cookie(request)
        if caller is not None:
            if request.method not in SAFE and not _is_own_page(request.headers):
                raise HttpError(403, "A change must come from one of the console's own pages.", 40302)
        elif of_api or "authorization" in request.headers:
            caller = await self._door.caller_of(request)
        elif request.method in SAFE:
            asked = path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"{LOGIN}?next={quote(asked, safe='')}", 303)
        else:
            raise HttpError(401, "Unauthorized")
        seat = await self._seat(caller)
        if path == ME:
            return _json({"principal": str(caller.principal), "role": seat.role.word})
        if of_api and request.method not in SAFE and seat.role is Role.VIEWER:
            raise HttpError(403, f"{caller.principal} is a viewer, and may change nothing.", 40301)
        _place(request.scope, caller, seat)
        return None

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = self._token(Headers(scope=scope))
        session = self._sessions.find(token) if token else None
        if session is None:
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "log in first"})
            return
        _place(scope, session.caller, await self._seat(session.caller))

        async def while_logged_in() -> Message:
            message = await receive()
            if self._sessions.find(token, touch=_is_by_person(message)) is None:
                await send({"type": "websocket.close", "code": 1008, "reason": "the session is over"})
                return {"type": "websocket.disconnect", "code": 1008}
            return message

        await self._app(scope, while_logged_in, send)

    async def _log_in_or_out(self, request: Request) -> Response:
        if request.url.path == LOGIN and request.method in SAFE:
            if "BASIC" not in self._door.settings.methods:
                raise HttpError(401, "This console takes no passwords: come with a certificate or a token.")
            return HTMLResponse(login_page(_next(request.query_params.get("next"))))
        if request.method != "POST":
            raise HttpError(405, "HTTP 405 Method Not Allowed")
        if not _is_own_page(request.headers):
            raise HttpError(403, "The login must come from the console's own page.", 40302)
        return await self._log_in(request) if request.url.path == LOGIN else self._log_out(request)

    async def _log_in(self, request: Request) -> Response:
        form = parse_qs((await read_body(request, FORM_BYTES_MAX)).decode(errors="replace"))
        name, password, to = (form.get(field, [""])[0] for field in ("name", "password", "next"))
        host = host_of(request)
        if self._failures.are_too_many(host):
            told = "Too many wrong passwords came from this address. Wait a minute."
            return HTMLResponse(login_page(_next(to), told), 429)
        try:
            caller = await self._door.by_password(host, name, password)
        except HttpError as error:
            if error.status in (401, 403):
                self._failures.note(host)
            told = "Name or password is wrong." if error.status == 401 else error.message
            return HTMLResponse(login_page(_next(to), told), error.status)
        response = RedirectResponse(_next(to), 303)
        token = self._sessions.begin(caller)
        response.set_cookie(
            self._cookie, token, path="/", secure=self._is_https, httponly=True, samesite="strict"
        )
        return response

    def _log_out(self, request: Request) -> Response:
        if token := self._token(request.headers):
            self._sessions.end(token)
        response = RedirectResponse(LOGIN, 303)
        response.delete_cookie(
            self._cookie, path="/", secure=self._is_https, httponly=True, samesite="strict"
        )
        return response

    def _by_cookie(self, request: Request) -> Caller | None:
        token = self._token(request.headers)
        session = self._sessions.find(token) if token else None
        return None if session is None else session.caller

    def _token(self, headers: Headers) -> str:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return ""
        return "" if found is None else found.value

    async def _seat(self, caller: Caller) -> Seat:
        return self._seats.of(caller, role_of(caller, await self._authorizer()))


def seat_of(scope: Scope) -> Seat | None:
    """The seat of a request that has passed the gate; None where there is no gate."""
    found: Seat | None = scope.get("state", {}).get(SEAT)
    return found


def caller_of(scope: Scope) -> Caller | None:
    found: Caller | None = scope.get("state", {}).get(CALLER)
    return found


def _place(scope: Scope, caller: Caller, seat: Seat) -> None:
    scope["state"] = {**scope.get("state", {}), SEAT: seat, CALLER: caller}


def _is_own_page(headers: Headers) -> bool:
    """Whether a browser says that a page of this very origin sent the request."""
    origin = headers.get("origin")
    if origin is not None:
        return urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
    return headers.get("sec-fetch-site") == "same-origin"


def _is_by_person(message: Message) -> bool:
    """Whether a message of a socket is more than a heartbeat: an open page alone keeps no session alive."""
    text = message.get("text") or ""
    return message["type"] == "websocket.receive" and len(text) > 1


def _next(given: str | None) -> str:
    """Where to go after the login: a path of the console, and nothing else."""
    path = given or "/"
    is_own = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if is_own and "\\" not in path else "/"


def _refusal(error: HttpError) -> Response:
    return _json({"error_code": error.error_code, "message": error.message}, error.status, error.headers)


def _json(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(json.dumps(body).encode(), status, headers, "application/json")
