"""`Feed`: one poller for one thing, shared by every page that shows it.

It polls only while somebody watches. A poll that fails keeps the last value and carries the error, so that
pages can show both; it goes on trying, and recovers by itself. Callbacks run in the event loop and must not
wait.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from penstock.client.errors import ClientError

T = TypeVar("T")
log = logging.getLogger(__name__)

BUSY_SHARE = 4
"""After a poll that took t seconds, wait at least this many times t: a slow cluster is not hammered.

A poll that
failed has waited for its deadline, not worked, and is tried again soon."""


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """The last value there was, and the error of the last poll if it failed."""

    value: T | None = None
    error: ClientError | None = None


class Feed(Generic[T]):
    def __init__(self, fetch: Callable[[], Awaitable[T]], interval_s: float) -> None:
        self._fetch = fetch
        self._interval_s = interval_s
        self._watchers: dict[int, Callable[[Reading[T]], None]] = {}
        self._next_id = 0
        self._task: asyncio.Task[None] | None = None
        self._in_flight: asyncio.Task[Reading[T]] | None = None
        self._polled_at = float("-inf")
        self._wake = asyncio.Event()
        self.reading: Reading[T] = Reading()

    def watch(self, callback: Callable[[Reading[T]], None]) -> Callable[[], None]:
        """Call back now if there is a reading, and after every poll. Returns the function that ends it."""
        self._next_id += 1
        key = self._next_id
        self._watchers[key] = callback
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())
        if self.reading != Reading():
            callback(self.reading)
        return lambda: self._leave(key)

    async def current(self, max_age_s: float) -> T:
        """A value at most so old, polled now if need be; callers at the same time share one poll."""
        if time.monotonic() - self._polled_at > max_age_s or self.reading.error is not None:
            await self._poll()
        if self.reading.error is not None:
            raise self.reading.error
        assert self.reading.value is not None
        return self.reading.value

    def refresh(self) -> None:
        """Poll soon, because something was just changed."""
        self._wake.set()

    @property
    def watchers(self) -> int:
        return len(self._watchers)

    async def close(self) -> None:
        self._watchers.clear()
        for task in (self._task, self._in_flight):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    def _leave(self, key: int) -> None:
        self._watchers.pop(key, None)
        if not self._watchers and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        while True:
            began = time.monotonic()
            self._wake.clear()
            await self._poll()
            took = time.monotonic() - began if self.reading.error is None else 0.0
            pause = max(self._interval_s, BUSY_SHARE * took)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), pause)

    async def _poll(self) -> None:
        """Join the poll in flight, or start one. It goes on when a caller that waits for it is cancelled."""
        if self._in_flight is None or self._in_flight.done():
            self._in_flight = asyncio.get_running_loop().create_task(self._fetch_and_tell())
        await asyncio.shield(self._in_flight)

    async def _fetch_and_tell(self) -> Reading[T]:
        try:
            self.reading = Reading(await self._fetch())
        except ClientError as error:
            self.reading = Reading(self.reading.value, error)
        self._polled_at = time.monotonic()
        for callback in list(self._watchers.values()):
            try:
                callback(self.reading)
            except Exception:  # one page's mistake must not silence the others
                log.exception("a page failed to show a new reading")
        return self.reading
