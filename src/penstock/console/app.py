"""The console's process: `run` binds, serves until SIGTERM or SIGINT, and leaves nothing behind.

`create_app` is the same without a socket, for tests. NiceGUI keeps global state, so one process has one
console.
"""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from nicegui import ui
from starlette.datastructures import Headers
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.console import theme
from penstock.console.api import api_app
from penstock.console.client_backend import ClientBackend
from penstock.console.guard import Guard
from penstock.console.services import Services
from penstock.console.shell import shell

log = logging.getLogger(__name__)

SHUTDOWN_S = 2
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
) -> None:
    """Serve the console in the foreground; prints `ready http://HOST:PORT` when browsers may come.

    `allowed_hosts` are names it answers to besides its own address; `client_settings` are librdkafka's.
    """
    listener = bind(listen_host, listen_port)
    host, port = listener.getsockname()[:2]
    services = Services.over(ClientBackend(bootstrap_servers, settings=client_settings), title)
    app = create_app(services, listen_host=listen_host, allowed_hosts=allowed_hosts)
    config = uvicorn.Config(
        app,
        log_level="warning",
        ws="wsproto",  # the one that NiceGUI itself runs with
        timeout_graceful_shutdown=SHUTDOWN_S,
        server_header=False,
        proxy_headers=False,
    )
    Server(config, f"ready http://{address(host, port)}").run(sockets=[listener])


def create_app(services: Services, *, listen_host: str, allowed_hosts: Iterable[str] = ()) -> ASGIApp:
    """API, pages and assets behind the guard."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await services.close()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.mount("/assets", StaticFiles(directory=theme.FOLDER))
    ui.run_with(
        app,
        root=lambda: shell(services),
        title=services.title,
        favicon=theme.FOLDER / "favicon.svg",
        dark=None,
        tailwind=False,
        message_history_length=HISTORY_MESSAGES,
        reconnect_timeout=RECONNECT_S,
        show_welcome_message=False,
    )
    both = ApiAndPages(api_app(services), app)
    return Guard(both, listen_host=listen_host, allowed_hosts=allowed_hosts)


class ApiAndPages:
    """One application of two: `web` serves the API and its description, NiceGUI serves everything else."""

    def __init__(self, api: ASGIApp, pages: ASGIApp) -> None:
        self._api = api
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        of_api = scope["type"] == "http" and (
            scope["path"] in ("/openapi.json", "/metrics", "/api") or scope["path"].startswith("/api/")
        )
        if of_api:
            await self._api(scope, receive, send)
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
