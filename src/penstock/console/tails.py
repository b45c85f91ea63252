"""`Tails`: one live tail for each watched topic, fanned out to all of its watchers.

A tail starts with its first watcher and ends with its last, or with an error, which every watcher receives. A
page that still wants the tail then watches again. Callbacks run in the event loop and must not wait.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from penstock.client.errors import BrokerUnreachable, ClientError, InvalidValue
from penstock.console.backend import Backend, Tail, TailBatch

log = logging.getLogger(__name__)

TOPICS_MAX = 16
"""Topics tailed at a time, each by one consumer and one thread."""

TICK_S = 0.5
RETRY_S = 1.0


@dataclass(frozen=True, slots=True)
class Watcher:
    """Callbacks of one watcher: the end of the topic is fixed, records came after it, the tail has ended."""

    on_open: Callable[[], None]
    on_batch: Callable[[TailBatch], None]
    on_end: Callable[[ClientError], None]


class Tails:
    def __init__(self, backend: Backend, *, tick_s: float = TICK_S) -> None:
        self._backend = backend
        self._tick_s = tick_s
        self._topics: dict[str, _SharedTail] = {}

    def watch(self, topic: str, watcher: Watcher) -> Callable[[], None]:
        """Tell `watcher` until the returned function is called. A tail that is open already says so soon."""
        shared = self._topics.get(topic)
        if shared is None:
            if len(self._topics) >= TOPICS_MAX:
                raise InvalidValue(
                    f"{TOPICS_MAX} topics are watched live already, so {topic!r} cannot be. "
                    "Close one of those live views first."
                )
            shared = self._topics[topic] = _SharedTail(self._backend, topic, self._tick_s)
        key = shared.join(watcher)

        def leave() -> None:
            if shared.leave(key) and self._topics.get(topic) is shared:
                del self._topics[topic]

        return leave

    @property
    def topics(self) -> list[str]:
        return sorted(self._topics)

    async def close(self) -> None:
        tails = list(self._topics.values())
        self._topics.clear()
        for tail in tails:
            await tail.close()


class _SharedTail:
    def __init__(self, backend: Backend, topic: str, tick_s: float) -> None:
        self._backend = backend
        self._topic = topic
        self._tick_s = tick_s
        self._watchers: dict[int, Watcher] = {}
        self._next_key = 0
        self._open = False
        self._task = asyncio.get_running_loop().create_task(self._run())

    def join(self, watcher: Watcher) -> int:
        self._next_key += 1
        self._watchers[self._next_key] = watcher
        if self._open:
            asyncio.get_running_loop().call_soon(watcher.on_open)
        return self._next_key

    def leave(self, key: int) -> bool:
        """True when no watcher is left."""
        self._watchers.pop(key, None)
        if not self._watchers:
            self._task.cancel()
        return not self._watchers

    async def close(self) -> None:
        self._watchers.clear()
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        """A broker that cannot be reached is tried again, the pages say so meanwhile; other errors end it."""
        while True:
            try:
                await self._follow()
            except BrokerUnreachable:
                await asyncio.sleep(RETRY_S)
            except ClientError as error:
                self._tell(functools.partial(_end, error))
                return

    async def _follow(self) -> None:
        tail = await self._backend.tail(self._topic)
        try:
            await self._pump(tail)
        finally:
            self._open = False
            await asyncio.shield(tail.close())

    async def _pump(self, tail: Tail) -> None:
        self._open = True
        self._tell(lambda watcher: watcher.on_open())
        while True:
            batch = await tail.poll()
            if batch.messages or batch.skipped:
                self._tell(functools.partial(_bring, batch))
                await asyncio.sleep(self._tick_s)  # a few updates a second are enough for eyes

    def _tell(self, what: Callable[[Watcher], None]) -> None:
        for watcher in list(self._watchers.values()):
            try:
                what(watcher)
            except Exception:  # one page's mistake must not silence the others
                log.exception("a page failed to show new records")


def _bring(batch: TailBatch, watcher: Watcher) -> None:
    watcher.on_batch(batch)


def _end(error: ClientError, watcher: Watcher) -> None:
    watcher.on_end(error)
