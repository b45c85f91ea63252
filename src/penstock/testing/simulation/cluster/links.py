"""Connections over the simulated network: a client's end that is made anew when it is lost, and the server's
end in a process that may be dead by the time something arrives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from penstock.protocol import messages
from penstock.protocol.apis import Api, is_flexible
from penstock.testing.simulation.cluster.network import Network, Way

REQUEST_TIMEOUT_MS: Final = 2_000.0

Answered = Callable[[bytes], None]
Failed = Callable[[], None]


class Timers(Protocol):
    """Whose time it is: the world's, or that of a process which may be stopped or dead."""

    def after(self, delay_ms: float, action: Callable[[], None]) -> None: ...

    def monotonic(self) -> float: ...

    def enter(self, action: Callable[[], None]) -> None:
        """Something has arrived: now, or when the process goes on, or never when it is dead."""
        ...


class ServerEnd(Protocol):
    def receive(self, frame: bytes) -> None: ...

    def hang_up(self) -> None:
        """The other end is gone."""
        ...


class Host(Protocol):
    """A machine with at most one process."""

    name: str

    @property
    def has_power(self) -> bool: ...

    def accept(
        self, port: int, deliver: Callable[[bytes], None], lost: Callable[[], None]
    ) -> ServerEnd | None:
        """The server's end of a new connection; None when nobody listens."""
        ...


class Hosts:
    """The machines by name, and the network between them."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._hosts: dict[str, Host] = {}

    def add(self, host: Host) -> None:
        self._hosts[host.name] = host

    def find(self, name: str) -> Host:
        return self._hosts[name]


class Link:
    """A client's connection to one port of one host. Each request is answered or fails, within its time: when
    one fails the connection is closed and all the others on it fail, too. What was sent may arrive all the
    same."""

    def __init__(self, timers: Timers, hosts: Hosts, source: str, host: str, port: int) -> None:
        self._timers = timers
        self._hosts = hosts
        self._route = (source, host, port)
        self._connection: _Connection | None = None
        self._correlation_id = 0

    def ask(
        self,
        api: Api,
        version: int,
        body: bytes,
        answered: Answered,
        failed: Failed,
        timeout_ms: float = REQUEST_TIMEOUT_MS,
    ) -> None:
        """Send; one of the two is called once, never from within this call."""
        if self._connection is None or self._connection.closed:
            self._connection = _Connection(self._hosts, *self._route)
        connection = self._connection
        self._correlation_id += 1
        number = self._correlation_id
        skip = 5 if is_flexible(api, version) and api is not Api.API_VERSIONS else 4
        connection.pending[number] = (
            lambda frame: self._timers.enter(lambda: answered(frame[skip:])),
            lambda: self._timers.enter(failed),
        )
        connection.send(_header(api, version, number) + body)
        self._timers.after(timeout_ms, lambda: connection.close() if number in connection.pending else None)

    def call(
        self,
        api: Api,
        version: int,
        fields: dict[str, Any],
        answered: Callable[[Any], None],
        failed: Failed,
        timeout_ms: float = REQUEST_TIMEOUT_MS,
    ) -> None:
        """`ask` with messages in the place of bytes."""
        body = messages.encode_request(api, version, fields)
        self.ask(
            api,
            version,
            body,
            lambda data: answered(messages.read_response(api, version, data)),
            failed,
            timeout_ms,
        )

    def cut(self) -> None:
        """Break the connection, with anything under way."""
        if self._connection is not None:
            self._connection.close()


class _Connection:
    """One life of a link, with both of its ends."""

    def __init__(self, hosts: Hosts, source: str, host: str, port: int) -> None:
        self._host = hosts.find(host)
        self._port = port
        self._there: Way = hosts.network.way(source, host)
        self._back: Way = hosts.network.way(host, source)
        self._server: ServerEnd | None = None
        self._accepted = False
        self._server_closed = False
        self.pending: dict[int, tuple[Answered, Failed]] = {}
        self.closed = False

    # The client's end

    def send(self, frame: bytes) -> None:
        self._there.send(lambda: self._arrive(frame))

    def close(self) -> None:
        """For the client it is over; the server learns of it behind everything that was sent."""
        if not self.closed:
            self._there.send(self._client_gone)
            self._lose()

    def _lose(self) -> None:
        self.closed = True
        pending, self.pending = self.pending, {}
        for _, failed in pending.values():
            failed()

    def _deliver(self, frame: bytes) -> None:
        waiting = self.pending.pop(int.from_bytes(frame[:4], "big"), None)
        if waiting is not None:
            waiting[0](frame)

    # The server's end

    def _arrive(self, frame: bytes) -> None:
        if not self._host.has_power:
            return  # into the void: the client waits until its time is over
        if not self._accepted:
            self._accepted = True
            self._server = self._host.accept(self._port, self._answer, self._server_gone)
        if self._server is None or self._server_closed:
            self._back.send(self._lose_unless_closed)  # nobody there: reset
        else:
            self._server.receive(frame)

    def _client_gone(self) -> None:
        if self._server is not None and not self._server_closed and self._host.has_power:
            self._server_closed = True
            self._server.hang_up()

    def _answer(self, frame: bytes) -> None:
        self._back.send(lambda: None if self.closed else self._deliver(frame))

    def _server_gone(self) -> None:
        """The process has died or closed the connection: the system says so, if it still runs."""
        self._server_closed = True
        if self._host.has_power:
            self._back.send(self._lose_unless_closed)

    def _lose_unless_closed(self) -> None:
        if not self.closed:
            self._lose()


def _header(api: Api, version: int, correlation_id: int) -> bytes:
    client_id = b"\x00\x03sim"
    numbers = api.to_bytes(2, "big") + version.to_bytes(2, "big") + correlation_id.to_bytes(4, "big")
    return numbers + client_id + (b"\x00" if is_flexible(api, version) else b"")
