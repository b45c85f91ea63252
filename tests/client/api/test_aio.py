"""The asyncio form: awaited, and cancelled without a loss."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from penstock.client import AsyncConsumer, AsyncProducer, TopicPartition
from penstock.client.api.exceptions import TimeoutException


def test_records_are_sent_and_read(bootstrap: str, topic: str) -> None:
    async def work() -> list[bytes]:
        async with AsyncProducer({"bootstrap.servers": bootstrap}) as producer:
            metadata = await producer.send_and_wait(topic, b"first")
            assert metadata.offset == 0
            futures = [await producer.send(topic, b"%d" % number) for number in range(100)]
            assert [(await future).offset for future in futures] == list(range(1, 101))
        settings = {"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest", "group.id": f"g-{topic}"}
        found: list[bytes] = []
        async with AsyncConsumer(settings) as consumer:
            await consumer.subscribe([topic])
            async for record in consumer:
                found.append(record.value)
                if len(found) == 101:
                    await consumer.commit()
                    at = TopicPartition(topic, 0)
                    assert (await consumer.committed([at]))[at].offset == 101
                    return found
        raise AssertionError

    assert asyncio.run(work())[:3] == [b"first", b"0", b"1"]


def test_a_cancelled_poll_loses_nothing(bootstrap: str, topic: str) -> None:
    count = 300

    async def write() -> None:
        async with AsyncProducer({"bootstrap.servers": bootstrap, "linger.ms": 0}) as producer:
            for number in range(count):
                await producer.send(topic, b"%d" % number)
                await asyncio.sleep(0.003)

    async def read() -> list[int]:
        found: list[int] = []
        settings = {"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest", "max.poll.records": 3}
        async with AsyncConsumer(settings) as consumer:
            await consumer.assign([TopicPartition(topic, 0)])
            cancelled = 0
            while len(found) < count:
                try:
                    async with asyncio.timeout(0.004):
                        found += [int(record.value) for record in await consumer.poll(10)]
                except TimeoutError:
                    cancelled += 1
        assert cancelled > 10
        return found

    async def work() -> list[int]:
        writing = asyncio.create_task(write())
        async with asyncio.timeout(60):
            found = await read()
        await writing
        return found

    assert asyncio.run(work()) == list(range(count))


def test_a_cancelled_transaction_is_aborted(bootstrap: str, topic: str) -> None:
    async def work() -> list[bytes]:
        settings = {"bootstrap.servers": bootstrap, "transactional.id": f"t-{topic}"}
        async with AsyncProducer(settings) as producer:
            await producer.init_transactions(10)

            async def half() -> None:
                async with producer.transaction():
                    await producer.send_and_wait(topic, b"gone")
                    await asyncio.sleep(60)

            with pytest.raises(TimeoutError):
                async with asyncio.timeout(2):
                    await half()
            async with producer.transaction():
                await producer.send(topic, b"kept")
        reading = {
            "bootstrap.servers": bootstrap,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
        async with AsyncConsumer(reading) as consumer:
            await consumer.assign([TopicPartition(topic, 0)])
            return [record.value for record in await consumer.poll(20)]

    assert asyncio.run(work()) == [b"kept"]


def test_the_loop_goes_on_while_a_send_waits_for_metadata(bootstrap: str) -> None:
    async def work() -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        async with AsyncProducer({"bootstrap.servers": bootstrap, "max.block.ms": 500}) as producer:
            ticking = asyncio.create_task(tick())
            with pytest.raises(TimeoutException):
                await producer.send_and_wait("nonesuch", b"v")
            ticking.cancel()
        return ticks

    assert asyncio.run(work()) > 5


def test_a_full_queue_is_waited_for_without_blocking_the_loop(
    bootstrap: str, topic_of: Callable[..., str]
) -> None:
    topic = topic_of()

    async def work() -> int:
        async with AsyncProducer({"bootstrap.servers": bootstrap, "buffer.memory": 100_000}) as producer:
            futures = [await producer.send(topic, b"x" * 1000) for _ in range(1000)]
            return len({(await future).offset for future in futures})

    assert asyncio.run(work()) == 1000
