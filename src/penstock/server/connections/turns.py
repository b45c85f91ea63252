"""Connections that send many small produce requests take turns, and consumers come after them.

Python's own lock is not fair: a thread that gives it up mostly has it back before another thread is awake.
A client with few requests therefore waits behind clients with many. Here connections get turns in the order
in which they asked, and only the connection with the turn works. A turn lasts for what was received at once.
Correctness does not depend on turns: no connection waits for one longer than `PATIENCE_SECONDS`, and a
connection that has to wait for something else gives up its turn first.

A consumer whose records have come lets producers go first. While several of them wait, it does not even ask:
its answer comes some milliseconds later then, and holds several batches for the work of one.

`_turns_native` (Cython) does all of it without the GIL. A connection that waits for a turn does not compete
for the GIL, and while one connection sends and receives, the next one works. `PureTurns` is its twin for
machines without a compiler; a test compares the two. Asked by `penstock.server.connections.connection`.
"""

from __future__ import annotations

import errno
import time
from collections import deque
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    import socket

PATIENCE_SECONDS: Final = 0.01
CROWD: Final = 4
"""From so many waiting connections on there is more to do than can be done; fewer were only unlucky."""
_LENGTH_BYTES: Final = 4
_KEY_BYTES: Final = 2


class Turns(Protocol):
    """One for all connections of a server. Invariant: no connection waits while no turn is taken."""

    def take(self) -> bool:
        """Wait for a turn. Returns whether there is one, which has to be given up afterwards."""
        ...

    def take_behind(self) -> bool:
        """The same, behind all connections that called `take`, and later still while many of them wait."""
        ...

    def waiting(self) -> tuple[int, int]:
        """How many wait, and how many behind them."""
        ...

    def give_up(self) -> None:
        """Pass the turn on."""
        ...

    def exchange(
        self, sock: socket.socket, answers: bytes, room: memoryview, has_turn: bool
    ) -> tuple[int, bool]:
        """Give up the turn, send, receive what comes, and take another one if that is a produce request as a
        whole: how many bytes came, and whether there is a turn. Less than zero says with which error sending
        failed; OSError when receiving did."""
        ...


class PureTurns:
    def __init__(self, patience_seconds: float = PATIENCE_SECONDS, crowd: int = CROWD) -> None:
        self._patience_seconds = patience_seconds
        self._crowd = crowd
        self._lock = Lock()
        self._is_taken = False
        self._waiting: deque[Lock] = deque()
        self._behind: deque[Lock] = deque()

    def waiting(self) -> tuple[int, int]:
        return len(self._waiting), len(self._behind)

    def take(self) -> bool:
        return self._take(self._waiting)

    def take_behind(self) -> bool:
        if len(self._waiting) >= self._crowd:
            time.sleep(self._patience_seconds)
        return self._take(self._behind)

    def _take(self, waiting: deque[Lock]) -> bool:
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return True
            called = Lock()
            called.acquire()
            waiting.append(called)
        if called.acquire(timeout=self._patience_seconds):
            return True
        with self._lock:
            if called in waiting:
                waiting.remove(called)
                return False
            return True  # it was called just now

    def give_up(self) -> None:
        with self._lock:
            if waiting := self._waiting or self._behind:
                waiting.popleft().release()
            else:
                self._is_taken = False

    def exchange(
        self, sock: socket.socket, answers: bytes, room: memoryview, has_turn: bool
    ) -> tuple[int, bool]:
        if has_turn:
            self.give_up()
        if answers:
            try:
                sock.sendall(answers)
            except OSError as error:
                return -(error.errno or errno.EIO), False
        count = sock.recv_into(room)
        return count, begins_with_produce(room[:count]) and self.take()


def begins_with_produce(received: memoryview) -> bool:
    """Length and API key, big-endian; Produce is 0."""
    size = int.from_bytes(received[:_LENGTH_BYTES], "big")
    key = received[_LENGTH_BYTES : _LENGTH_BYTES + _KEY_BYTES]
    return size + _LENGTH_BYTES <= len(received) and bytes(key) == bytes(_KEY_BYTES)


def new_turns() -> Turns:
    """The native ones where they were compiled."""
    try:
        native: Turns = import_module("penstock.server.connections._turns_native").Turns(
            PATIENCE_SECONDS, CROWD
        )
    except ImportError:
        return PureTurns()
    return native
