"""Connections of simulated clients: requests and answers take time, and a connection may break with anything
under way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.protocol import messages
from penstock.protocol.apis import Api, is_flexible
from penstock.testing.simulation.broker import ServerConnection, SimulatedBroker
from penstock.testing.simulation.world import World

SLOWEST_MS: Final = 30.0
RECONNECT_MS: Final = 100.0

Answer = Callable[[Any], None]


class ClientConnection:
    """One client's connection, made anew whenever it breaks. Frames of one direction keep their order, as
    TCP's do."""

    def __init__(self, world: World, broker: SimulatedBroker, connected: Callable[[], None]) -> None:
        self._world = world
        self._broker = broker
        self._connected = connected
        self._server: ServerConnection | None = None
        self._arrival = {"out": 0.0, "in": 0.0}
        self._pending: dict[int, tuple[Api, int, Answer]] = {}
        self._correlation_id = 0
        self._life = 0
        self._connect()

    def request(self, api: Api, version: int, fields: dict[str, Any], answer: Answer) -> None:
        """Send; `answer` is called with the response, or never if the connection breaks first."""
        self._correlation_id += 1
        self._pending[self._correlation_id] = (api, version, answer)
        frame = _header(api, version, self._correlation_id) + messages.encode_request(api, version, fields)
        server, life = self._server, self._life

        def arrive() -> None:
            if server is not None and life == self._life:
                server.receive(frame)

        self._send("out", arrive)

    def cut(self) -> None:
        """Break the connection; whatever was under way may or may not have been served."""
        if self._server is not None:
            self._server.close()

    def _connect(self) -> None:
        self._life += 1
        life = self._life
        self._server = self._broker.connect(lambda data: self._deliver(data, life), lambda: self._lose(life))
        if self._server is None:
            self._world.after(RECONNECT_MS, self._connect)
        else:
            self._connected()

    def _lose(self, life: int) -> None:
        if life == self._life:
            self._pending.clear()
            self._server = None
            self._life += 1
            self._world.after(RECONNECT_MS, self._connect)

    def _deliver(self, data: bytes, life: int) -> None:
        def arrive() -> None:
            if life != self._life:
                return
            api, version, answer = self._pending.pop(int.from_bytes(data[:4], "big"))
            skip = 5 if is_flexible(api, version) and api is not Api.API_VERSIONS else 4
            answer(messages.read_response(api, version, data[skip:]))

        self._send("in", arrive)

    def _send(self, direction: str, arrive: Callable[[], None]) -> None:
        now = self._world.monotonic() * 1000
        arrival = max(self._arrival[direction], now + self._world.random.uniform(0, SLOWEST_MS))
        self._arrival[direction] = arrival
        self._world.after(arrival - now, arrive)


def _header(api: Api, version: int, correlation_id: int) -> bytes:
    client_id = b"\x00\x03sim"
    numbers = api.to_bytes(2, "big") + version.to_bytes(2, "big") + correlation_id.to_bytes(4, "big")
    return numbers + client_id + (b"\x00" if is_flexible(api, version) else b"")
