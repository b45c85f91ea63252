"""From a thread that makes rows to a handler that sends them: a bounded queue that both sides can end."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

MOST_WAITING: Final = 10_000
"""Rows that wait for a slow client; its query waits meanwhile."""


class RowChannel:
    """Made in the event loop of the handler that reads."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ready = asyncio.Event()
        self._lock = threading.Condition()
        self._rows: deque[Any] = deque()
        self._ended = False
        self._error: Exception | None = None
        self.closed = threading.Event()
        """Set when nobody reads any more: the thread ends."""

    # -- the thread's side

    def put(self, rows: Sequence[Any]) -> bool:
        """False when the query shall end. Waits while too many rows wait."""
        with self._lock:
            self._rows.extend(rows)
            self._wake()
            while len(self._rows) > MOST_WAITING and not self.closed.is_set():
                self._lock.wait(0.5)
        return not self.closed.is_set()

    def end(self, error: Exception | None = None) -> None:
        with self._lock:
            self._ended, self._error = True, self._error or error
            self._wake()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop may have been closed meanwhile
            self._loop.call_soon_threadsafe(self._ready.set)

    # -- the handler's side

    async def take(self, timeout_s: float | None = None) -> list[Any] | None:
        """The rows that are there, after waiting for the first; none at the end. An empty list says that
        none came in time.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._ready.wait()
        with self._lock:
            self._ready.clear()
            rows = list(self._rows)
            self._rows.clear()
            self._lock.notify_all()
            if self._ended:
                self._ready.set()
                if not rows and self._error is not None:
                    raise self._error
                return rows or None
            return rows

    def close(self) -> None:
        with self._lock:
            self.closed.set()
            self._lock.notify_all()
