"""The deadline of a proof: a client that has not proved who it is within `PROOF_SECONDS` of connecting is cut
off, however slowly it sends. Kafka has no such deadline; there a client that sends a byte now and then keeps
its connection for ever.

`Server` adds connections when they are opened and ends the late ones at its tick.
"""

from __future__ import annotations

import weakref
from collections import deque
from threading import Lock
from typing import Final

from penstock.clock import Clock
from penstock.server.connections.connection import Connection

PROOF_SECONDS: Final = 30.0


class Strangers:
    """New connections, oldest first. One that is gone is not kept alive here."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: deque[tuple[float, weakref.ref[Connection]]] = deque()
        self._lock = Lock()

    def add(self, connection: Connection) -> None:
        with self._lock:
            self._waiting.append((self._clock.monotonic() + PROOF_SECONDS, weakref.ref(connection)))

    def tick(self) -> None:
        """Cut off the clients whose time is over."""
        for connection in self._due(self._clock.monotonic()):
            connection.end_stranger(f"the client has not proved who it is within {PROOF_SECONDS:g} s")

    def _due(self, now: float) -> list[Connection]:
        found: list[Connection] = []
        with self._lock:
            while self._waiting and self._waiting[0][0] <= now:
                connection = self._waiting.popleft()[1]()
                if connection is not None:
                    found.append(connection)
        return found
