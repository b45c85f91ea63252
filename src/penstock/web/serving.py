"""`serve`: one service in one process, until SIGTERM or Ctrl-C; the same manners as `penstock broker`."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from penstock.settings.listeners import format_address
from penstock.web.application import App
from penstock.web.joined_writes import JoinedWrites
from penstock.web.tls import PEER_CERTIFICATE, certificate_of, listener_context
from penstock.web.workers import Worker
from penstock.wire.server_tls import ServerContext

CONNECTIONS_MAX: Final = 2_000
"""Connections and requests under way; more are answered 503."""
KEEP_ALIVE_S: Final = 60
STOP_WITHIN_S: Final = 10
_BACKLOG: Final = 1024
COLLECTED_AFTER: Final = (20_000, 20, 20)


def print_ready(address: str) -> None:
    print(f"ready {address}", flush=True)


def serve(
    app: App,
    host: str,
    port: int,
    ready: Callable[[str], None] = print_ready,
    certificates: ServerContext | None = None,
    worker: Worker | None = None,
) -> None:
    """Runs until it is told to stop; port 0 picks a free one. OSError when the address cannot be had. A
    worker shares the address with others, and also serves on a socket of its own."""
    with ExitStack() as sockets:
        listener = sockets.enter_context(listening_socket(host, port, shared=worker is not None))
        own = () if worker is None else (sockets.enter_context(worker.own_socket()),)
        serve_on(app, listener, ready, certificates, own)


def serve_on(
    app: App,
    listener: socket.socket,
    ready: Callable[[str], None] = print_ready,
    certificates: ServerContext | None = None,
    more: Sequence[socket.socket] = (),
) -> None:
    """The same on a bound socket, for a service that must know its address before it starts. With
    certificates it speaks HTTPS."""
    bound = listener.getsockname()
    config = uvicorn.Config(
        app,
        http=HttpWithCertificate,
        ssl_context_factory=context_factory(certificates),
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="on",
        ws="none",
        server_header=False,
        limit_concurrency=CONNECTIONS_MAX,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=STOP_WITHIN_S,
    )
    collect_seldom()
    _Server(config, lambda: ready(format_address(bound[0], bound[1]))).run(sockets=[listener, *more])


def collect_seldom() -> None:
    """Requests make many objects and hardly any cycle of them. Python looks for cycles after every 700 new
    objects unless told otherwise, which took a quarter of the registry's time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED_AFTER)


def listening_socket(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A bound socket; an empty host is every address. A shared one leaves room for other workers."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def context_factory(certificates: ServerContext | None) -> Callable[..., ssl.SSLContext] | None:
    """What uvicorn makes its context with."""
    return None if certificates is None else lambda _config, _default: listener_context(certificates)


class HttpWithCertificate(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # which one it is, is found out
    """uvicorn's protocol, which brings the client's certificate along and joins small writes."""

    app_state: dict[str, Any]

    def connection_made(self, transport: Any) -> None:
        self.app_state = {**self.app_state, PEER_CERTIFICATE: certificate_of(transport)}
        super().connection_made(JoinedWrites(transport, asyncio.get_running_loop()))


class _Server(uvicorn.Server):
    """uvicorn, which says when it is ready and ends with success when it was asked to."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and not self.should_exit:
            self._on_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn raises the signal again once it has stopped, and a clean end would look like a kill."""
        former = {number: signal.signal(number, self._stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self.should_exit = True
