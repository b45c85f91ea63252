"""The memory that large requests of all connections may take together (`queued.max.request.bytes`).

Small buffers, up to `frames.AHEAD_BYTES` a connection, are free of charge: heartbeats and the like always get
through. Everything above is taken here, as its bytes arrive, and given back when the request is done. Buffers
that idle connections keep for their next request are counted apart, so they never take a request's room.

Without room a connection waits. Nothing waits for ever: a connection whose frame has made no progress for
`STALL_SECONDS` is cut off to make room, and one that has waited for `ROOM_SECONDS` gives up. When every
connection that holds a part of its frame waits for the rest, the oldest of them goes on above the limit. One
does so at a time, so all of them together hold at most the limit and one request. Called by
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

KEPT_PART: Final = 4
"""Buffers that are kept take one part in so many of the limit, beside it."""

NO_BOUND: Final = 2**62


class NoRoom(Exception):
    """There was no memory for a request within `ROOM_SECONDS`."""


class RequestMemory:
    """One for all connections of a server. Invariant: `used` is the sum of what the shares hold, and `kept`
    the sum of what they keep."""

    def __init__(self, limit_bytes: int, clock: Clock) -> None:
        self._limit_bytes = limit_bytes
        self._clock = clock
        self._changed = Condition()
        self._shares: dict[Share, None] = {}  # those that hold memory, the oldest first
        self._above_limit: Share | None = None  # goes on although there is no room
        self.used = 0
        self.kept = 0

    def take(self, share: Share, size: int) -> None:
        """Add `size` bytes to a share, waiting for room if need be. Raises NoRoom."""
        now = self._clock.monotonic()
        end = now + ROOM_SECONDS
        with self._changed:
            self._keep_no_more(share)
            share.progressed = None  # it does not stall, it waits for others
            share.waits = True
            try:
                while self.used + size > self._limit_bytes and not self._may_exceed(share):
                    if now >= end:
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

    def keep(self, share: Share) -> bool:
        """The request is done. Count its buffer as kept for the next one, if there is room for that."""
        with self._changed:
            may_keep = (self.kept + share.size) * KEPT_PART <= self._limit_bytes
            if may_keep:
                self.kept += share.size
                share.kept += share.size
                self._give_back(share)
            return may_keep

    def give_back(self, share: Share) -> None:
        """Everything that the share holds and keeps."""
        with self._changed:
            self._keep_no_more(share)
            self._give_back(share)

    def _give_back(self, share: Share) -> None:
        self.used -= share.size
        share.size = 0
        share.progressed = None
        self._shares.pop(share, None)
        if self._above_limit is share:
            self._above_limit = None
        self._changed.notify_all()

    def _keep_no_more(self, share: Share) -> None:
        self.kept -= share.kept
        share.kept = 0

    def _may_exceed(self, share: Share) -> bool:
        """Whether the share goes on above the limit: all that hold memory wait, and it is the oldest."""
        if self._above_limit is None and all(other.waits for other in self._shares):
            self._above_limit = next(iter(self._shares), None)
            self._changed.notify_all()
        return self._above_limit is share

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
        """Bytes for the request that is being received or served."""
        self.kept = 0
        """Bytes of the buffer that waits for the next request."""
        self.waits = False
        """Whether it waits for room."""
        self.progressed: float | None = None
        """When the frame that is being received last made progress; None while none is."""

    def take(self, size: int) -> None:
        self._memory.take(self, size)

    def is_whole(self) -> None:
        """The frame has arrived: its memory is in use, and nothing about it stalls."""
        self.progressed = None

    def keep(self) -> bool:
        """Whether the buffer may be kept for the next request."""
        return not self.size or self._memory.keep(self)

    def give_back(self) -> None:
        """Give back everything."""
        if self.size or self.kept:
            self._memory.give_back(self)


def memory_for(settings: BrokerSettings, clock: Clock) -> RequestMemory:
    """As the settings want it. One request of the largest size always fits."""
    limit = settings.queued_max_request_bytes
    return RequestMemory(max(limit, settings.socket_request_max_bytes) if limit > 0 else NO_BOUND, clock)
