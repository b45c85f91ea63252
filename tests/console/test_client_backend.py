"""The real backend against a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from penstock.client.paging import FromOffset
from penstock.client.sending import NewRecord
from penstock.console.backend import MessageQuery
from penstock.console.client_backend import STARTS_REFRESH_S, ClientBackend, StartOffsets

DEADLINE_S = 10.0


@pytest.fixture(scope="module")
def bootstrap_servers() -> Iterator[str]:
    from penstock.testing import Broker

    with Broker() as broker:
        yield broker.bootstrap_servers


def test_everything_the_console_asks_works_on_a_broker(bootstrap_servers: str) -> None:
    async def body() -> None:
        backend = ClientBackend(bootstrap_servers)
        await backend.create_topic("t", 2, 1, {"retention.ms": "60000"})
        tail = await backend.tail("t")
        await backend.produce("t", NewRecord(b"one", b"k", (("h", b"x"),), 1))
        snapshot = await backend.snapshot()
        topic = snapshot.topic("t")
        assert topic is not None
        assert topic.records == 1
        page = await backend.messages(MessageQuery("t", FromOffset(0), 1, 10))
        assert [m.value for m in page.messages] == [b"one"]
        assert (await backend.topic("t")).config("retention.ms") == "60000"
        async with asyncio.timeout(DEADLINE_S):
            while not (batch := await tail.poll()).messages:
                pass
        assert [m.value for m in batch.messages] == [b"one"]
        await tail.close()
        await backend.delete_topic("t")
        assert (await backend.snapshot()).topic("t") is None
        await backend.close()

    asyncio.run(body())


class Admin:
    """Counts what is asked for."""

    def __init__(self) -> None:
        self.asked: list[list[tuple[str, int]]] = []

    def start_offsets(self, partitions: object) -> dict[tuple[str, int], int]:
        listed = list(partitions)  # type: ignore[call-overload]
        self.asked.append(listed)
        return dict.fromkeys(listed, 10)


def test_starts_are_asked_for_rarely_and_at_once_where_they_must_have_changed() -> None:
    admin, now = Admin(), 0.0
    starts = StartOffsets(admin, lambda: now)  # type: ignore[arg-type]
    assert starts.for_ends({("a", 0): 50}) == {("a", 0): 10}
    starts.for_ends({("a", 0): 60})
    starts.for_ends({("a", 0): 60, ("b", 0): 20})
    starts.for_ends({("a", 0): 5})
    now = STARTS_REFRESH_S + 1
    starts.for_ends({("a", 0): 60})
    assert [asked for asked in admin.asked if asked] == [[("a", 0)], [("b", 0)], [("a", 0)], [("a", 0)]]
