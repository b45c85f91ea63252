"""One tail for each topic, shared, ended with its last watcher."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from penstock.client.errors import ClientError, InvalidValue, TopicNotFound
from penstock.console import tails as tails_module
from penstock.console.backend import TailBatch
from penstock.console.fake_backend import FakeBackend
from penstock.console.tails import TOPICS_MAX, Tails, Watcher

DEADLINE_S = 5.0


class Seen:
    def __init__(self) -> None:
        self.opened = 0
        self.values: list[bytes | None] = []
        self.error: ClientError | None = None
        self.watcher = Watcher(self._open, self._batch, self._end)

    def _open(self) -> None:
        self.opened += 1

    def _batch(self, batch: TailBatch) -> None:
        self.values += [message.value for message in batch.messages]

    def _end(self, error: ClientError) -> None:
        self.error = error


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not condition():
            await asyncio.sleep(0.005)


def cluster() -> FakeBackend:
    backend = FakeBackend()
    for i in range(TOPICS_MAX + 1):
        backend.add_topic(f"t{i}")
    return backend


def test_all_watchers_of_a_topic_share_one_tail() -> None:
    async def body() -> None:
        backend = cluster()
        tails = Tails(backend, tick_s=0.0)
        seen = [Seen() for _ in range(5)]
        leaves = [tails.watch("t0", one.watcher) for one in seen]
        await until(lambda: all(one.opened for one in seen))
        late = Seen()
        leaves.append(tails.watch("t0", late.watcher))
        await until(lambda: late.opened)
        backend.append("t0", b"x")
        await until(lambda: all(one.values == [b"x"] for one in [*seen, late]))
        assert backend.asked["tail"] == 1
        for leave in leaves:
            leave()
        await until(lambda: backend.open_tails == 0)
        assert tails.topics == []

    asyncio.run(body())


def test_more_topics_than_threads_are_refused() -> None:
    async def body() -> None:
        tails = Tails(cluster(), tick_s=0.0)
        for i in range(TOPICS_MAX):
            tails.watch(f"t{i}", Seen().watcher)
        with pytest.raises(InvalidValue, match="Close one of those live views"):
            tails.watch(f"t{TOPICS_MAX}", Seen().watcher)
        await tails.close()

    asyncio.run(body())


def test_an_unknown_topic_is_told_to_the_watcher() -> None:
    async def body() -> None:
        tails = Tails(cluster(), tick_s=0.0)
        seen = Seen()
        leave = tails.watch("nothing", seen.watcher)
        await until(lambda: isinstance(seen.error, TopicNotFound))
        leave()
        assert tails.topics == []

    asyncio.run(body())


def test_a_broker_that_is_away_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tails_module, "RETRY_S", 0.01)

    async def body() -> None:
        backend = cluster()
        backend.unreachable = True
        tails = Tails(backend, tick_s=0.0)
        seen = Seen()
        tails.watch("t0", seen.watcher)
        await until(lambda: backend.asked["tail"] >= 3)
        assert seen.opened == 0
        backend.unreachable = False
        await until(lambda: seen.opened == 1)
        await tails.close()
        assert backend.open_tails == 0

    asyncio.run(body())
