"""One poller shared by many, that outlives errors."""

from __future__ import annotations

import asyncio

import pytest

from penstock.client.errors import BrokerUnreachable
from penstock.console.feed import Feed, Reading

DEADLINE_S = 5.0


class Source:
    def __init__(self) -> None:
        self.polls = 0
        self.down = False

    async def fetch(self) -> int:
        self.polls += 1
        await asyncio.sleep(0)
        if self.down:
            raise BrokerUnreachable("h:1", 1.0)
        return self.polls


async def readings(feed: Feed[int], count: int) -> list[Reading[int]]:
    got: list[Reading[int]] = []
    enough = asyncio.Event()

    def receive(reading: Reading[int]) -> None:
        got.append(reading)
        if len(got) >= count:
            enough.set()

    leave = feed.watch(receive)
    await asyncio.wait_for(enough.wait(), DEADLINE_S)
    leave()
    return got


def test_watchers_share_one_poll() -> None:
    async def body() -> None:
        source = Source()
        feed = Feed(source.fetch, 0.01)
        await asyncio.gather(*(readings(feed, 3) for _ in range(50)))
        assert source.polls <= 4
        await feed.close()

    asyncio.run(body())


def test_nothing_is_polled_while_nobody_watches() -> None:
    async def body() -> None:
        source = Source()
        feed = Feed(source.fetch, 0.001)
        await readings(feed, 2)
        before = source.polls
        await asyncio.sleep(0.05)  # fifty intervals
        assert source.polls == before
        await feed.close()

    asyncio.run(body())


def test_an_error_keeps_the_last_value_and_the_feed_recovers() -> None:
    async def body() -> None:
        source = Source()
        feed = Feed(source.fetch, 0.001)
        await readings(feed, 1)
        source.down = True
        down = (await readings(feed, 3))[-1]
        assert isinstance(down.error, BrokerUnreachable)
        assert down.value is not None
        source.down = False
        assert (await readings(feed, 3))[-1].error is None
        await feed.close()

    asyncio.run(body())


def test_a_current_value_is_shared_and_raises_what_went_wrong() -> None:
    async def body() -> None:
        source = Source()
        feed = Feed(source.fetch, 1.0)
        assert await asyncio.gather(*(feed.current(1.0) for _ in range(10))) == [1] * 10
        assert await feed.current(60.0) == 1
        source.down = True
        with pytest.raises(BrokerUnreachable):
            await feed.current(0.0)
        source.down = False
        assert await feed.current(60.0) == 3, "an error is not kept for as long as a value"
        await feed.close()

    asyncio.run(body())


def test_a_refresh_polls_at_once() -> None:
    async def body() -> None:
        source = Source()
        feed = Feed(source.fetch, 60.0)
        task = asyncio.create_task(readings(feed, 2))
        while source.polls < 1:
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        feed.refresh()
        await asyncio.wait_for(task, DEADLINE_S)
        await feed.close()

    asyncio.run(body())


def test_a_watcher_that_fails_does_not_silence_the_others(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        feed = Feed(Source().fetch, 0.001)

        def broken(_: Reading[int]) -> None:
            raise RuntimeError("a page's mistake")

        feed.watch(broken)
        assert len(await readings(feed, 3)) >= 3
        await feed.close()

    asyncio.run(body())
    assert "a page's mistake" in caplog.text
