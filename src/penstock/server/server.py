"""The listening sockets: accept, give each connection a thread, close everything at the end."""

from __future__ import annotations

import logging
import socket
from contextlib import suppress
from threading import Lock, Thread
from typing import Final

from penstock.server.connection import Connection
from penstock.server.node import Node
from penstock.server.session import Session
from penstock.settings import Listener

CLOSE_SECONDS: Final = 5.0

_log = logging.getLogger(__name__)


class Server:
    """Serves a node on its listeners. Binding happens at construction, so that a taken port is told before
    anything starts."""

    def __init__(self, node: Node, listeners: tuple[Listener, ...]) -> None:
        self._node = node
        backlog = node.broker.settings.socket_listen_backlog_size
        self._sockets = [(listener, _bind(listener, backlog)) for listener in listeners]
        self._connections: dict[Connection, Thread] = {}
        self._lock = Lock()
        self._closing = False
        self._acceptors = [
            Thread(target=self._accept, args=(listener, sock), name=f"accept-{listener.name}", daemon=True)
            for listener, sock in self._sockets
        ]

    @property
    def addresses(self) -> dict[str, tuple[str, int]]:
        """Where each listener really listens."""
        return {listener.name: sock.getsockname()[:2] for listener, sock in self._sockets}

    def start(self) -> None:
        for acceptor in self._acceptors:
            acceptor.start()

    def close(self) -> None:
        """Stop accepting, end every conversation and wait, within a bound, until their threads are gone."""
        self._closing = True
        for _, sock in self._sockets:
            _shut(sock)
        for acceptor in self._acceptors:
            acceptor.join(CLOSE_SECONDS)
        with self._lock:
            running = dict(self._connections)
        for connection in running:
            connection.close()
        for thread in running.values():
            thread.join(CLOSE_SECONDS)

    def _accept(self, listener: Listener, sock: socket.socket) -> None:
        while not self._closing:
            try:
                client, address = sock.accept()
            except OSError as error:
                if self._closing:
                    return
                _log.error("cannot accept on %s: %s", listener, error)
                continue
            self._open(listener, client, str(address[0]))

    def _open(self, listener: Listener, client: socket.socket, host: str) -> None:
        settings = self._node.broker.settings
        try:
            connection = Connection(
                client,
                Session(self._node.broker, listener.name, host),
                self._node.broker.clock,
                max_frame_bytes=settings.socket_request_max_bytes,
                idle_ms=settings.connections_max_idle_ms,
            )
            thread = Thread(target=self._serve, args=(connection,), name=f"connection-{host}", daemon=True)
            with self._lock:
                self._connections[connection] = thread
            thread.start()
        except (OSError, RuntimeError) as error:
            _log.error("cannot serve a connection from %s: %s", host, error)
            client.close()

    def _serve(self, connection: Connection) -> None:
        try:
            connection.run()
        finally:
            with self._lock:
                self._connections.pop(connection, None)


def _bind(listener: Listener, backlog: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in listener.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((listener.host, listener.port))
        sock.listen(backlog)
    except OSError:
        sock.close()
        raise
    return sock


def _shut(sock: socket.socket) -> None:
    """Wake the thread that accepts on this socket; closing alone would leave it asleep."""
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()
