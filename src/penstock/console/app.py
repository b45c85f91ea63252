"""The console's process: `run` binds, serves until SIGTERM or SIGINT, and leaves nothing behind.

`create_app` is the same without a socket, for tests. NiceGUI keeps global state, so one process has one
console.
"""

from __future__ import annotations

import logging
import signal
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, NamedTuple

import uvicorn
from fastapi import FastAPI
from nicegui import ui
from starlette.datastructures import Headers
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.client.acl_checking import authorizer_of
from penstock.client.admin import Admin
from penstock.client.secured import acting_as
from penstock.console import theme
from penstock.console.alert_store import TopicStore
from penstock.console.api import api_app
from penstock.console.backend import Backend
from penstock.console.client_backend import ClientBackend
from penstock.console.gate import Gate, seat_of
from penstock.console.guard import Guard
from penstock.console.notifying import Mail
from penstock.console.recorder import Recorder
from penstock.console.remotes import Addresses, Remotes
from penstock.console.remotes_as_caller import callers_remotes, registry_for, trusted_by
from penstock.console.seats import Role, Seats
from penstock.console.services import Services
from penstock.console.shell import shell
from penstock.security.authorizer import Authorizer
from penstock.security.client_settings import Sasl
from penstock.web.callers import Caller
from penstock.web.door import OPEN_DOOR, Door
from penstock.web.rights import Rights
from penstock.web.serving import HttpWithCertificate, context_factory

log = logging.getLogger(__name__)

SHUTDOWN_S = 2
logging.getLogger("httpx").setLevel(logging.WARNING)  # it would log every look at every service
RECONNECT_S = 10.0
"""How long a browser that went away may come back to where it was; also how late its pong may be (40% of it).
"""

HISTORY_MESSAGES = 200
"""Messages kept for a browser whose socket broke for a moment; NiceGUI's default of 1,000 is a lot of live
rows.
"""


def run(
    listen_host: str = "127.0.0.1",
    listen_port: int = 9021,
    bootstrap_servers: str = "127.0.0.1:9092",
    title: str = "Penstock",
    *,
    allowed_hosts: Iterable[str] = (),
    client_settings: Mapping[str, Any] | None = None,
    addresses: Addresses | None = None,
    mail: Mail | None = None,
    door: Door = OPEN_DOOR,
) -> None:
    """Serve the console in the foreground; prints `ready http://HOST:PORT` when browsers may come.

    `allowed_hosts` are names it answers to besides its own address; `client_settings` are librdkafka's;
    `addresses` say where the other services are, `mail` who sends e-mail for alerts.
    """
    listener = bind(listen_host, listen_port)
    host, port = listener.getsockname()[:2]
    settings, places = client_settings or {}, addresses or Addresses()
    services = Services.over(
        ClientBackend(bootstrap_servers, settings=settings, registry=registry_for(places.registry, settings)),
        title,
        remotes=Remotes.at(places),
        store=TopicStore(bootstrap_servers, settings),
        mail=mail,
    )
    kept = _login(door, bootstrap_servers, settings, places) if door.is_kept else None
    app = create_app(services, listen_host=listen_host, allowed_hosts=allowed_hosts, login=kept)
    config = uvicorn.Config(
        app,
        http=HttpWithCertificate,
        ssl_context_factory=context_factory(door.certificates),
        log_level="warning",
        ws="wsproto",  # the one that NiceGUI itself runs with
        timeout_graceful_shutdown=SHUTDOWN_S,
        server_header=False,
        proxy_headers=False,
    )
    Server(config, f"ready {door.settings.scheme}://{address(host, port)}").run(sockets=[listener])


class Login(NamedTuple):
    """What a console needs that asks for a login."""

    door: Door
    backend_as: Callable[[Sasl], Backend]
    """A backend with the credentials of a caller."""
    remotes_as: Callable[[Caller, Role], Remotes]
    """The other services, asked with those credentials."""
    authorizer: Callable[[], Awaitable[Authorizer]]


def _login(
    door: Door, bootstrap_servers: str, client_settings: Mapping[str, Any], addresses: Addresses
) -> Login:
    admin = Admin(bootstrap_servers, settings=client_settings)

    def backend_as(sasl: Sasl) -> Backend:
        registry = registry_for(addresses.registry, client_settings, sasl)
        return ClientBackend(bootstrap_servers, settings=acting_as(client_settings, sasl), registry=registry)

    remotes_as = partial(callers_remotes, addresses, trusted_by(client_settings))
    return Login(door, backend_as, remotes_as, Rights(partial(authorizer_of, admin)).authorizer)


def create_app(
    services: Services,
    *,
    listen_host: str,
    allowed_hosts: Iterable[str] = (),
    login: Login | None = None,
) -> ASGIApp:
    """API, pages and assets behind the guard, and behind a login where one is asked for."""
    seats = None
    if login is not None:
        seats = Seats(services, login.backend_as, login.remotes_as, api_app, time.monotonic)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        recorder = Recorder(services)
        recorder.start()
        yield
        await recorder.close()
        if seats is not None:
            await seats.close()
        await services.close()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.mount("/assets", StaticFiles(directory=theme.FOLDER))
    ui.run_with(
        app,
        root=lambda: shell(_services_here(services)),
        title=services.title,
        favicon=theme.FOLDER / "favicon.svg",
        dark=None,
        tailwind=False,
        message_history_length=HISTORY_MESSAGES,
        reconnect_timeout=RECONNECT_S,
        show_welcome_message=False,
    )
    both: ASGIApp = ApiAndPages(api_app(services), app)
    if login is not None and seats is not None:
        both = Gate(both, login.door, seats, login.authorizer)
    return Guard(both, listen_host=listen_host, allowed_hosts=allowed_hosts)


def _services_here(own: Services) -> Services:
    """Those of the person whose page is made."""
    request = ui.context.client.request
    seat = None if request is None else seat_of(request.scope)
    return own if seat is None else seat.services


class ApiAndPages:
    """One application of two: `web` serves the API and its description, NiceGUI serves everything else."""

    def __init__(self, api: ASGIApp, pages: ASGIApp) -> None:
        self._api = api
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        of_api = scope["type"] == "http" and (
            scope["path"] in ("/openapi.json", "/metrics", "/api") or scope["path"].startswith("/api/")
        )
        seat = seat_of(scope)
        if of_api:
            await (self._api if seat is None else seat.api)(scope, receive, send)
        else:
            await self._pages(scope, receive, _as_page(send) if scope["type"] == "http" else send)


def _as_page(send: Send) -> Send:
    """A page that says in words that there is no such page is answered as a page. With NiceGUI's status 404
    every browser reports an error of its own in its console. A missing file stays 404.
    """

    async def wrapped(message: Message) -> None:
        missing = message["type"] == "http.response.start" and message["status"] == 404
        if missing and Headers(raw=message["headers"]).get("content-type", "").startswith("text/html"):
            message["status"] = 200
        await send(message)

    return wrapped


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 picks one. The error names the address and what to do."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise OSError(
            error.errno,
            f"The console cannot listen on {address(host, port)} ({error.strerror}). "
            "Stop what uses that port, or choose another with --listen.",
        ) from None
    listener.listen(128)
    return listener


def address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Server(uvicorn.Server):
    """uvicorn that says when it is ready, and for which SIGTERM is a normal end."""

    def __init__(self, config: uvicorn.Config, ready_line: str) -> None:
        super().__init__(config)
        self._ready_line = ready_line

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            print(self._ready_line, flush=True)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's, without raising the signal again afterwards: the process then ends with status 0."""
        before = {
            number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
