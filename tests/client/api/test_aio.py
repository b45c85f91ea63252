"""The asyncio form: awaited, and cancelled without a loss."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pyarrow as pa
import pytest

from penstock.client import AsyncConsumer, AsyncProducer, Consumer, Producer, TopicPartition
from penstock.client.api.exceptions import TimeoutException


@pytest.mark.parametrize(("form", "of"), [(AsyncProducer, Producer), (AsyncConsumer, Consumer)])
def test_the_asyncio_form_has_every_method(form: type, of: type) -> None:
    """`wakeup` ends a poll; here that is done by cancelling it."""
    without = {"wakeup", "poll_until", "send_nowait", "on_report", "begin", "wake", "known_until", "wave"}
    without |= {"deferred", "hears_all", "client_instance_id", "enforce_rebalance"}
    without |= {"register_metric_for_subscription", "unregister_metric_from_subscription"}
    names = {name for name in dir(of) if not name.startswith("_")} - without
    assert not sorted(name for name in names if not hasattr(form, name))


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


def test_the_other_methods_do_what_those_of_the_clients_do(
    bootstrap: str, topic_of: Callable[..., str]
) -> None:
    topic = topic_of(2)
    at = TopicPartition(topic, 1)
    heard: list[object] = []

    async def work() -> None:
        async with AsyncProducer(
            {"bootstrap.servers": bootstrap, "transactional.id": f"t-{topic}"}
        ) as producer:
            assert len(await producer.partitions_for(topic)) == 2
            await producer.init_transactions(20)
            await producer.begin_transaction()
            await (await producer.send(topic, b"gone", partition=1))
            await producer.abort_transaction(20)
            await producer.begin_transaction()
            await producer.send(topic, b"kept", partition=1)
            await producer.commit_transaction(20)
            assert producer.metrics()["record-error-total"] == 0
        async with AsyncProducer({"bootstrap.servers": bootstrap}) as producer:
            rows = pa.record_batch({"value": [b"a", b"b"], "partition": pa.array([1, 1], pa.int32())})
            await producer.send_arrow(topic, rows)
            await producer.flush(20)
        settings = {"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest", "group.id": f"g-{topic}"}
        async with AsyncConsumer({**settings, "isolation.level": "read_committed"}) as consumer:
            assert len(await consumer.partitions_for(topic)) == 2
            assert (await consumer.list_topics())[topic] == 2
            await consumer.subscribe([topic])
            assert consumer.subscription() == {topic}
            await consumer.unsubscribe()
        async with AsyncConsumer({**settings, "isolation.level": "read_committed"}) as consumer:
            await consumer.assign([at])
            values: list[bytes] = []
            async with asyncio.timeout(30):
                while len(values) < 3:
                    values += [record.value for record in await consumer.poll(5)]
            assert values == [b"kept", b"a", b"b"]
            assert await consumer.assignment() == {at}
            assert (await consumer.beginning_offsets([at]))[at] == 0
            assert (await consumer.end_offsets([at]))[at] == await consumer.position(at)
            assert await consumer.current_lag(at) == 0
            await consumer.commit_async(callback=lambda offsets, error: heard.append(error))
            await consumer.commit_sync(timeout=10)
            await consumer.pause([at])
            assert consumer.paused() == {at}
            await consumer.seek_to_beginning()
            assert not await consumer.poll(0.2)
            await consumer.resume([at])
            await consumer.seek_to_end([at])
            assert not await consumer.poll(0.2)
            found = await consumer.offsets_for_times({at: 0})
            assert found[at] is not None
            await consumer.seek(at, 0)
            assert consumer.metrics()["records-consumed-total"] == 3
        async with AsyncConsumer(settings) as consumer:
            await consumer.assign([at])
            await consumer.seek_to_beginning([at])
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.0005):
                    await consumer.poll_arrow(20)
            rows, total = [], 0
            async with asyncio.timeout(30):
                while total < 4:
                    rows.append(await consumer.poll_arrow(5))
                    total += rows[-1].num_rows
            assert [value for batch in rows for value in batch["value"].to_pylist()] == [
                b"gone", b"kept", b"a", b"b"
            ]  # fmt: skip

    asyncio.run(work())
    assert heard == [None]
