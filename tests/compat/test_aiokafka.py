"""aiokafka."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from tests.compat.expectations import CODECS, Sent, numbers, records


async def produce(servers: str, topic: str, sent: list[Sent], codec: str) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=servers,
        compression_type=None if codec == "none" else codec,
        linger_ms=20,
        acks="all",
        enable_idempotence=True,
        max_batch_size=200_000,
    )
    await producer.start()
    try:
        futures = [
            await producer.send(
                topic,
                item.value,
                key=item.key,
                headers=list(item.headers),
                timestamp_ms=item.timestamp_ms,
                partition=0,
            )
            for item in sent
        ]
        await asyncio.wait_for(asyncio.gather(*futures), 60)
    finally:
        await producer.stop()


async def consume(servers: str, topic: str, count: int) -> list[Sent]:
    consumer = AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest", group_id=None)
    await consumer.start()
    received: list[Sent] = []
    try:
        consumer.assign([TopicPartition(topic, 0)])
        async with asyncio.timeout(60):
            while len(received) < count:
                for batch in (await consumer.getmany(timeout_ms=1000)).values():
                    received += [
                        Sent(item.key, item.value, tuple(item.headers), item.timestamp) for item in batch
                    ]
    finally:
        await consumer.stop()
    return received


@pytest.mark.parametrize("codec", CODECS)
def test_records_come_back_as_they_went_in_every_codec(
    servers: str, topic: Callable[[int], str], codec: str
) -> None:
    name, sent = topic(1), records()
    asyncio.run(produce(servers, name, sent, codec))
    assert asyncio.run(consume(servers, name, len(sent))) == sent


def test_a_hundred_thousand_records_with_acks_all_come_back_exactly(
    servers: str, topic: Callable[[int], str]
) -> None:
    name, values = topic(1), numbers()
    asyncio.run(produce(servers, name, [Sent(None, value, (), 1) for value in values], "none"))
    assert [item.value for item in asyncio.run(consume(servers, name, len(values)))] == values
