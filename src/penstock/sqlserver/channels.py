"""From a thread that makes rows to a handler that sends them: a bounded queue that both sides can end."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

MOST_WAITING: Final = 2000
"""Rows that wait for a slow client; its query waits meanwhile."""
MOST_WAITING_BYTES: Final = 1024 * 1024
"""The same in bytes of the records that the rows were made of."""
AT_ONCE: Final = 500
"""Rows that are taken at a time: others have their turn in between."""


class RowChannel:
    """Made in the event loop of the handler that reads."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ready = asyncio.Event()
        self._lock = threading.Condition()
        self._rows: deque[Any] = deque()
        self._bytes = 0.0
        self._ended = False
        self._error: Exception | None = None
        self.closed = threading.Event()
        """Set when nobody reads any more: the thread ends."""

    # -- the thread's side

    def put(self, rows: Sequence[Any], size_bytes: int = 0) -> bool:
        """False when the query shall end. Waits while too many rows wait."""
        with self._lock:
            self._rows.extend(rows)
            self._bytes += size_bytes
            self._wake()
            while self._is_full() and not self.closed.is_set():
                self._lock.wait(0.5)
        return not self.closed.is_set()

    def put_all(self, rows: Sequence[Any]) -> None:
        """Without waiting: rows that are all there already, and whose reader may not have begun."""
        with self._lock:
            self._rows.extend(rows)
            self._wake()

    def _is_full(self) -> bool:
        return len(self._rows) > MOST_WAITING or (len(self._rows) > 1 and self._bytes > MOST_WAITING_BYTES)

    def end(self, error: Exception | None = None) -> None:
        with self._lock:
            self._ended, self._error = True, self._error or error
            self._wake()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop may have been closed meanwhile
            self._loop.call_soon_threadsafe(self._ready.set)

    # -- the handler's side

    async def take(self, timeout_s: float | None = None) -> list[Any] | None:
        """Rows that are there, after waiting for the first; none at the end. An empty list says that none
        came in time.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._ready.wait()
        with self._lock:
            self._ready.clear()
            left = max(0, len(self._rows) - AT_ONCE)
            self._bytes *= left / max(1, len(self._rows))
            rows = [self._rows.popleft() for _ in range(len(self._rows) - left)]
            self._lock.notify_all()
            if left or self._ended:
                self._ready.set()
            if self._ended:
                if not rows and self._error is not None:
                    raise self._error
                return rows or None
            return rows

    def close(self) -> None:
        with self._lock:
            self.closed.set()
            self._lock.notify_all()
