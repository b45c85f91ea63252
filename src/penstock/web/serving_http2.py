"""`serve_http2_on`: a service whose clients speak HTTP/2 without asking first, beside HTTP/1.1 on its port.

uvicorn speaks HTTP/1.1 alone, so hypercorn serves these. Manners are those of `serving.py`.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import ssl
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from penstock.settings.listeners import format_address
from penstock.web.application import App
from penstock.web.serving import KEEP_ALIVE_S, print_ready
from penstock.web.tls import HANDSHAKE_SECONDS, PEER_CERTIFICATE, certificate_of, listener_context
from penstock.wire.server_tls import ServerContext

log = logging.getLogger(__name__)
STREAMS_MAX: Final = 1000
"""Requests of one HTTP/2 connection at a time."""
STOP_WITHIN_S: Final = 5


def serve_http2_on(
    app: App,
    listener: socket.socket,
    ready: Callable[[str], None] = print_ready,
    on_stop: Callable[[], None] = lambda: None,
    certificates: ServerContext | None = None,
) -> None:
    """Runs on a bound socket until SIGTERM or SIGINT. `on_stop` then ends answers that have no end. With
    certificates it speaks HTTPS."""
    asyncio.run(_serve(app, listener, ready, on_stop, certificates))


async def _serve(
    app: App,
    listener: socket.socket,
    ready: Callable[[str], None],
    on_stop: Callable[[], None],
    certificates: ServerContext | None,
) -> None:
    from hypercorn.asyncio import serve

    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    config = _config(certificates)
    config.bind = [f"fd://{listener.dup().detach()}"]  # hypercorn closes its own
    config.accesslog = config.errorlog = None
    config.include_server_header = False
    config.keep_alive_timeout = KEEP_ALIVE_S
    config.graceful_timeout = STOP_WITHIN_S
    config.ssl_handshake_timeout = HANDSHAKE_SECONDS
    config.h2_max_concurrent_streams = STREAMS_MAX
    bound = listener.getsockname()
    address = format_address(bound[0], bound[1])
    started = _Started(app, lambda: ready(address))
    loop.set_exception_handler(_note)
    try:
        await serve(started, config, shutdown_trigger=_waiting(stopping, on_stop))
    except Exception as error:
        if not stopping.is_set():
            raise
        log.info("connections were cut while the service stopped: %s", error)


def _config(certificates: ServerContext | None) -> Any:
    """hypercorn's settings. It makes contexts of files alone, and does not show the client's certificate."""
    from hypercorn.asyncio import run, tcp_server
    from hypercorn.config import Config

    class TcpServer(tcp_server.TCPServer):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.state = {**self.state, PEER_CERTIFICATE: certificate_of(self.writer)}

    class OwnConfig(Config):
        ssl_enabled = certificates is not None

        def create_ssl_context(self) -> ssl.SSLContext | None:
            return None if certificates is None else listener_context(certificates)

    vars(run)["TCPServer"] = TcpServer  # there is no other hook
    _write_reasons()
    return OwnConfig()


def _write_reasons() -> None:
    """Status lines of HTTP/1.1 with their words, `200 OK`: some clients cannot read a line without them, and
    hypercorn writes none."""
    import h11
    from hypercorn import protocol
    from hypercorn.protocol import h11 as http1

    class H11Protocol(http1.H11Protocol):
        async def _send_h11_event(self, event: Any) -> None:
            if isinstance(event, h11.Response | h11.InformationalResponse) and not event.reason:
                event = type(event)(
                    status_code=event.status_code,
                    headers=event.headers,
                    http_version=event.http_version,
                    reason=_reason(event.status_code),
                )
            await super()._send_h11_event(event)

    vars(protocol)["H11Protocol"] = H11Protocol  # there is no other hook


def _reason(status: int) -> bytes:
    try:
        return HTTPStatus(status).phrase.encode()
    except ValueError:
        return b"Status"


def _waiting(stopping: asyncio.Event, on_stop: Callable[[], None]) -> Callable[[], Awaitable[Any]]:
    async def wait() -> None:
        await stopping.wait()
        on_stop()

    return wait


def _note(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A connection that broke, in one line."""
    log.info("%s: %s", context.get("message"), context.get("exception"))


def _without_host(scope: Any) -> Any:
    """A request whose target is a whole URL, as HTTP/1.1 allows: only its path says what is asked for."""
    if not scope["path"].startswith(("http://", "https://")):
        return scope
    path = urlsplit(scope["path"]).path or "/"
    raw = urlsplit(scope["raw_path"]).path or b"/"
    return {**scope, "path": path, "raw_path": raw}


class _Started:
    """The application, which says when the server is ready: hypercorn has no hook for it.

    hypercorn listens on the socket right after the application has started; the socket is bound already, so
    a client that connects in between waits, and is served.
    """

    def __init__(self, app: App, on_ready: Callable[[], None]) -> None:
        self._app, self._on_ready = app, on_ready

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await self._app(_without_host(scope), receive, send)
            return

        async def sending(message: Any) -> None:
            await send(message)
            if message["type"] == "lifespan.startup.complete":
                self._on_ready()

        await self._app(scope, receive, sending)
