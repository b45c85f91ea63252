"""Rows between a query and its client: bounded by number and by bytes, given in small parts."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

from penstock.client.librdkafka import Connection
from penstock.client.sending import NewRecord, Sender
from penstock.sqlserver.channels import AT_ONCE, MOST_WAITING, MOST_WAITING_BYTES, RowChannel
from tests.sqlserver.servers import Server

MANY = 5 * MOST_WAITING


@pytest.mark.parametrize(
    ("count", "size"), [(MOST_WAITING + 1, 0), (2, 2 * MOST_WAITING_BYTES)], ids=["rows", "bytes"]
)
def test_a_query_waits_for_a_slow_client(count: int, size: int) -> None:
    async def run() -> None:
        channel = RowChannel()
        putting = threading.Thread(target=channel.put, args=[range(count), size])
        putting.start()
        taken: list[int] = []
        putting.join(0.05)
        assert putting.is_alive()
        while len(taken) < count:
            found = await channel.take(10)
            assert found is not None
            assert len(found) <= AT_ONCE
            taken += found
        assert taken == list(range(count))
        await asyncio.to_thread(putting.join, 10)
        assert not putting.is_alive()

    asyncio.run(run())


def test_a_query_whose_client_is_gone_does_not_wait() -> None:
    async def run() -> None:
        channel = RowChannel()
        threading.Timer(0.05, channel.close).start()
        assert not await asyncio.to_thread(channel.put, range(MANY))

    asyncio.run(run())


def test_all_rows_come_before_the_end_and_the_error_after_them() -> None:
    async def run() -> None:
        channel = RowChannel()
        channel.put_all(range(MANY))
        channel.end(ValueError("why"))
        taken: list[int] = []
        while len(taken) < MANY:
            taken += await channel.take() or ()
        assert taken == list(range(MANY))
        with pytest.raises(ValueError, match="why"):
            await channel.take()

    asyncio.run(run())


def test_a_pull_query_gives_more_rows_than_may_wait(
    server: Server, bootstrap_servers: str, name: str
) -> None:
    server.ksql(
        f"CREATE SOURCE TABLE {name} (id INT PRIMARY KEY, v INT) "
        f"WITH (kafka_topic='{name}', value_format='JSON', partitions=1);"
    )
    with Sender(Connection(bootstrap_servers, 30)) as sender:
        for number in range(MANY):
            sender.send(name, NewRecord(json.dumps({"V": number}).encode(), number.to_bytes(4, "big")))
    rows = server.wait_for_rows(f"SELECT * FROM {name};", lambda found: len(found) == MANY)
    assert sorted(rows) == [[number, number] for number in range(MANY)]
