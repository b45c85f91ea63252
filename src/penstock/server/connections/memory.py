"""The memory that large requests of all connections may take together (`queued.max.request.bytes`).

Small buffers, up to `frames.AHEAD_BYTES` a connection, are free of charge: heartbeats and the like always get
through. Everything above is taken here, as its bytes arrive, and given back when the request is done.

Without room a connection waits. Nothing waits for ever: a connection whose frame has made no progress for
`STALL_SECONDS` is cut off to make room, and one that has waited for `ROOM_SECONDS` gives up. When every
connection that holds a part of its frame waits for the rest, the last of them gives up at once. Called by
`server.connections.frames`.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition
from typing import Final

from penstock.clock import Clock
from penstock.settings import BrokerSettings

STALL_SECONDS: Final = 5.0
ROOM_SECONDS: Final = 20.0
LOOK_SECONDS: Final = 0.5
"""How often a connection that waits looks whether another one has stalled."""

NO_BOUND: Final = 2**62


class NoRoom(Exception):
    """There was no memory for a request within `ROOM_SECONDS`."""


class RequestMemory:
    """One for all connections of a server. Invariant: `used` is the sum of what the shares hold."""

    def __init__(self, limit_bytes: int, clock: Clock) -> None:
        self._limit_bytes = limit_bytes
        self._clock = clock
        self._changed = Condition()
        self._shares: dict[Share, None] = {}
        self.used = 0

    @property
    def is_half_used(self) -> bool:
        """Whether buffers should be given back rather than kept for the next request."""
        return self.used * 2 > self._limit_bytes

    def take(self, share: Share, size: int) -> None:
        """Add `size` bytes to a share, waiting for room if need be. Raises NoRoom."""
        now = self._clock.monotonic()
        end = now + ROOM_SECONDS
        with self._changed:
            share.progressed = None  # it does not stall, it waits for others
            share.waits = True
            try:
                while self.used + size > self._limit_bytes:
                    if now >= end or all(other.waits for other in self._shares):
                        raise NoRoom(f"no memory for {size} more bytes of a request: {self.used} are in use")
                    self._cut_off_stalled(now)
                    self._changed.wait(min(LOOK_SECONDS, end - now))
                    now = self._clock.monotonic()
            finally:
                share.waits = False
            self.used += size
            share.size += size
            share.progressed = now
            self._shares[share] = None

    def give_back(self, share: Share, size: int) -> None:
        with self._changed:
            self.used -= size
            share.size -= size
            if not share.size:
                self._shares.pop(share, None)
            self._changed.notify_all()

    def _cut_off_stalled(self, now: float) -> None:
        for share in list(self._shares):
            if share.progressed is not None and now - share.progressed > STALL_SECONDS:
                share.progressed = None
                share.cut_off()


class Share:
    """What one connection holds."""

    def __init__(self, memory: RequestMemory, cut_off: Callable[[], None]) -> None:
        self._memory = memory
        self.cut_off = cut_off
        """Ends the connection; called from another connection's thread."""
        self.size = 0
        self.waits = False
        """Whether it waits for room."""
        self.progressed: float | None = None
        """When the frame that is being received last made progress; None while none is."""

    @property
    def may_keep(self) -> bool:
        """Whether there is enough memory to keep a buffer for the next request."""
        return not self._memory.is_half_used

    def take(self, size: int) -> None:
        self._memory.take(self, size)

    def is_whole(self) -> None:
        """The frame has arrived: its memory is in use, and nothing about it stalls."""
        self.progressed = None

    def give_back(self, size: int | None = None) -> None:
        """Give back `size` bytes, or everything."""
        if self.size:
            self._memory.give_back(self, self.size if size is None else size)


def memory_for(settings: BrokerSettings, clock: Clock) -> RequestMemory:
    """As the settings want it. One request of the largest size always fits."""
    limit = settings.queued_max_request_bytes
    return RequestMemory(max(limit, settings.socket_request_max_bytes) if limit > 0 else NO_BOUND, clock)
