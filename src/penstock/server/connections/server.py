"""The listening sockets: accept, give each connection a thread, close everything at the end."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterable
from contextlib import suppress
from threading import Lock, Thread
from typing import Final

from penstock.server.connections.complaints import Complaints
from penstock.server.connections.connection import Commons, Connection
from penstock.server.connections.doors import Doors
from penstock.server.connections.limits import ConnectionLimits, ConnectionRefused
from penstock.server.connections.memory import memory_for
from penstock.server.connections.strangers import Strangers
from penstock.server.connections.turns import new_turns
from penstock.server.node import Node
from penstock.settings import BrokerSettings, Listener

Bound = list[tuple[Listener, socket.socket]]

CLOSE_SECONDS: Final = 5.0
MAX_REFUSED: Final = 1000  # connections that are kept waiting before they are closed

_log = logging.getLogger(__name__)


class Server:
    """Serves a node on its listeners, which are bound already."""

    def __init__(self, node: Node, sockets: Bound) -> None:
        self._node = node
        self._sockets = sockets
        self._limits = ConnectionLimits(node.broker)
        self._doors = Doors(node.broker, [listener for listener, _ in sockets])
        clock = node.broker.clock
        memory = memory_for(node.broker.settings, clock)
        self._commons = Commons(clock, new_turns(), memory, Complaints(clock))
        self._strangers = Strangers(clock)
        self._refused: list[tuple[float, socket.socket]] = []  # to be closed, and when
        self._connections: dict[Connection, Thread] = {}
        self._lock = Lock()
        self._closing = False
        self._acceptors: list[Thread] = []

    def accept_on(self, listeners: Iterable[Listener]) -> None:
        """Serve the clients of these listeners. Clients that came before have waited in the backlog."""
        wanted = {listener.name for listener in listeners}
        for listener, sock in self._sockets:
            if listener.name in wanted and not self._closing:
                name = f"accept-{listener.name}"
                acceptor = Thread(target=self._accept, args=(listener, sock), name=name, daemon=True)
                self._acceptors.append(acceptor)
                acceptor.start()

    def close(self) -> None:
        """Stop accepting, end every conversation and wait, within a bound, until their threads are gone."""
        self._closing = True
        self._limits.wake()
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
        self._close_refused(float("inf"))
        self._doors.close()

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    def tick(self) -> None:
        """Close connections that were refused, once their time has come, and those without a proof in time;
        say what was left out of the log."""
        self._close_refused(self._commons.clock.monotonic())
        self._strangers.tick()
        self._commons.complaints.tick()

    def _accept(self, listener: Listener, sock: socket.socket) -> None:
        while not self._closing:
            try:
                client, address = sock.accept()
            except OSError as error:
                if self._closing:
                    return
                _log.error("cannot accept on %s: %s", listener, error)
                continue
            host = _plain(str(address[0]))
            try:
                self._limits.enter(host, lambda: self._closing)
            except ConnectionRefused as refusal:
                _log.info("connection refused: %s", refusal)
                self._refuse(client, refusal.delay_ms)
            else:
                self._open(listener, client, host)

    def _refuse(self, client: socket.socket, delay_ms: int) -> None:
        with self._lock:
            if delay_ms > 0 and not self._closing and len(self._refused) < MAX_REFUSED:
                due = self._node.broker.clock.monotonic() + delay_ms / 1000
                self._refused.append((due, client))
                return
        client.close()

    def _close_refused(self, now: float) -> None:
        with self._lock:
            due = [client for time, client in self._refused if time <= now]
            self._refused = [item for item in self._refused if item[0] > now]
        for client in due:
            client.close()

    def _open(self, listener: Listener, client: socket.socket, host: str) -> None:
        settings = self._node.broker.settings
        try:
            if settings.socket_send_buffer_bytes > 0:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, settings.socket_send_buffer_bytes)
            connection = Connection(
                self._doors.transport(listener, client),
                self._doors.session(listener, host),
                self._commons,
                host=host,
                max_frame_bytes=settings.socket_request_max_bytes,
            )
            thread = Thread(
                target=self._serve, args=(connection, host), name=f"connection-{host}", daemon=True
            )
            with self._lock:
                thread.start()
                self._connections[connection] = thread
            if connection.is_stranger:
                self._strangers.add(connection)
        except (OSError, RuntimeError) as error:
            _log.error("cannot serve a connection from %s: %s", host, error)
            client.close()
            self._limits.leave(host)

    def _serve(self, connection: Connection, host: str) -> None:
        try:
            connection.run()
        finally:
            with self._lock:
                self._connections.pop(connection, None)
            self._limits.leave(host)


def bind_all(listeners: tuple[Listener, ...], settings: BrokerSettings) -> Bound:
    """The listening sockets. Fails before anything else has begun if a port is taken."""
    bound: Bound = []
    try:
        for listener in listeners:
            sock = _bind(listener, settings.socket_listen_backlog_size, settings.socket_receive_buffer_bytes)
            bound.append((listener, sock))
    except OSError:
        close_all(bound)
        raise
    return bound


def close_all(bound: Bound) -> None:
    for _, sock in bound:
        sock.close()


def _plain(address: str) -> str:
    """An IPv4 client of an IPv6 socket is known by its IPv4 address."""
    return address.removeprefix("::ffff:") if "." in address else address


def _bind(listener: Listener, backlog: int, receive_bytes: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in listener.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if receive_bytes > 0:
            # Before listening: connections inherit it, and with it the size of their window.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
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
