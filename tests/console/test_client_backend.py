"""The real backend against a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from penstock.client import ShareConsumer
from penstock.client.configs import Owner
from penstock.client.errors import InvalidValue, PartitionNotFound
from penstock.client.groups import Groups
from penstock.client.paging import FromOffset
from penstock.client.sending import NewRecord
from penstock.client.targets import Target
from penstock.console.backend import MessageQuery
from penstock.console.client_backend import STARTS_REFRESH_S, ClientBackend, StartOffsets
from penstock.console.cluster_values import Move
from penstock.console.searching import SearchQuery

DEADLINE_S = 60.0


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


def test_groups_disks_settings_and_the_quorum_of_a_broker(bootstrap_servers: str) -> None:
    async def body() -> None:
        backend = ClientBackend(bootstrap_servers)
        await backend.create_topic("many", 1, 1, {})
        await backend.produce("many", NewRecord(b"one"))
        await backend.produce("many", NewRecord(b"two"))
        moves = await backend.reset_plan("readers", ("many",), Target(offset=1))
        assert [(move.partition, move.committed, move.wanted, move.end) for move in moves] == [
            (0, None, 1, 2)
        ]
        Groups(backend._admin).set_offsets("readers", {("many", 0): 1})
        now = await backend.groups()
        (group,) = [each for each in now.groups if each.group_id == "readers"]
        assert [lag.lag for lag in now.lags(group)] == [1]
        await backend.reset_group("readers", await backend.reset_plan("readers", (), Target(latest=True)))
        assert (await backend.groups()).committed["readers"] == {("many", 0): 2}
        disks = await backend.disks()
        assert disks.sizes["many", 0] > 0
        assert (await backend.quorum()).replicas[0].voter
        await backend.alter_configs(Owner.topic("many"), {"retention.ms": "1000"})
        changed = {entry.name: entry for entry in await backend.configs(Owner.topic("many"))}
        assert changed["retention.ms"].value == "1000"
        await backend.add_partitions("many", 3)
        assert await backend.empty_topic("many") == 2
        assert await backend.transactions() == []
        assert await backend.hanging_transactions(1) == []
        await backend.delete_group("readers")
        await backend.delete_topic("many")

    asyncio.run(body())


def test_share_groups_stand_beside_the_others(bootstrap_servers: str) -> None:
    async def body() -> None:
        backend = ClientBackend(bootstrap_servers)
        await backend.create_topic("work", 1, 1, {})
        await backend.alter_configs(Owner("GROUP", "workers"), {"share.auto.offset.reset": "earliest"})
        for value in (b"one", b"two", b"three"):
            await backend.produce("work", NewRecord(value))
        settings = {"bootstrap.servers": bootstrap_servers, "group.id": "workers", "max.poll.records": 2}
        with ShareConsumer(settings) as consumer:
            consumer.subscribe(["work"])
            async with asyncio.timeout(DEADLINE_S):
                while not list(await asyncio.to_thread(consumer.poll, 0.5)):
                    pass
            now = await backend.groups()
            (group,) = [each for each in now.groups if each.group_id == "workers"]
            assert (group.kind, group.state) == ("SHARE", "STABLE")
            assert group.members[0].partitions == (("work", 0),)
            assert [lag.lag for lag in now.lags(group)] == [3], "nothing is accepted yet"
            with pytest.raises(InvalidValue, match="1 members"):
                await backend.reset_group("workers", [Move("work", 0, 0, 1, 3)])
            consumer.commit_sync()
        now = await backend.groups()
        (group,) = [each for each in now.groups if each.group_id == "workers"]
        (lag,) = now.lags(group)
        assert (group.state, lag.lag < 3) == ("EMPTY", True)
        moves = await backend.reset_plan("workers", (), Target(offset=0))
        assert [(move.committed, move.wanted) for move in moves] == [(lag.committed_offset, 0)]
        await backend.reset_group("workers", moves)
        assert (await backend.groups()).committed["workers"] == {("work", 0): 0}
        await backend.delete_group("workers")
        assert "workers" not in [each.group_id for each in (await backend.groups()).groups]

    asyncio.run(body())


def test_a_search_reads_a_whole_topic_and_stops_at_its_end(bootstrap_servers: str) -> None:
    async def body() -> None:
        backend = ClientBackend(bootstrap_servers)
        await backend.create_topic("long", 3, 1, {})
        for number in range(30):
            value = b'{"number": %d}' % number
            await backend.produce("long", NewRecord(value, partition=number % 3))
        search = await backend.search(SearchQuery("long", "value.number >= 28"))
        hits, done = [], False
        async with asyncio.timeout(DEADLINE_S):
            while not done:
                found, scanned, total, done = await search.poll()
                hits += found
        assert (len(hits), scanned, total) == (2, 30, 30)
        await search.close()
        with pytest.raises(PartitionNotFound):
            await backend.search(SearchQuery("long", "", partition=9))
        await backend.delete_topic("long")

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
