"""Transactions with confluent-kafka and aiokafka: what is committed is read once, what is not never."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.peers.topic_reader import read_topic

SECONDS = 15
_names = itertools.count()


def producer(servers: str, name: str | None = None, **settings: object) -> Producer:
    made = Producer(
        {
            "bootstrap.servers": servers,
            "transactional.id": name or f"confluent-{next(_names)}",
            **settings,
        }
    )
    made.init_transactions(SECONDS)
    return made


def consumer(servers: str, group: str, isolation: str = "read_committed") -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )


def read(servers: str, topic: str, isolation: str = "read_committed") -> list[str]:
    return [message.value().decode() for message in read_topic(servers, topic, isolation)]


def test_commits_are_read_and_aborts_are_not(servers: str, topic: Callable[[int], str]) -> None:
    name, writer = topic(2), producer(servers)
    for number in range(30):
        writer.begin_transaction()
        for part in range(2):
            writer.produce(name, f"{number}", partition=part)
        if number % 3:
            writer.commit_transaction(SECONDS)
        else:
            writer.abort_transaction(SECONDS)
    committed = sorted(str(number) for number in range(30) if number % 3)
    assert sorted(read(servers, name)) == sorted(committed * 2)


def test_readers_of_committed_records_stop_at_an_open_transaction(
    servers: str, topic: Callable[[int], str]
) -> None:
    name, writer = topic(1), producer(servers)
    writer.begin_transaction()
    writer.produce(name, "open")
    writer.flush(SECONDS)
    plain = Producer({"bootstrap.servers": servers})
    plain.produce(name, "behind it")
    plain.flush(SECONDS)
    assert read(servers, name) == []
    assert read(servers, name, isolation="read_uncommitted") == ["open", "behind it"]
    writer.commit_transaction(SECONDS)
    assert read(servers, name) == ["open", "behind it"]


def test_a_successor_aborts_what_was_open_and_fences_who_opened_it(
    servers: str, topic: Callable[[int], str]
) -> None:
    name = topic(1)
    zombie = producer(servers, "same")
    zombie.begin_transaction()
    zombie.produce(name, "zombie")
    zombie.flush(SECONDS)
    successor = producer(servers, "same")
    successor.begin_transaction()
    successor.produce(name, "successor")
    successor.commit_transaction(SECONDS)
    with pytest.raises(KafkaException) as refused:
        zombie.commit_transaction(SECONDS)
    assert refused.value.args[0].fatal()
    assert read(servers, name) == ["successor"]


def test_offsets_are_committed_with_the_transaction_or_not_at_all(
    servers: str, topic: Callable[[int], str]
) -> None:
    name, group = topic(1), f"offsets-{next(_names)}"
    place = TopicPartition(name, 0, 5)
    member = consumer(servers, group)
    writer = producer(servers)
    for commit, expected in ((False, -1001), (True, 5)):
        writer.begin_transaction()
        writer.send_offsets_to_transaction([place], member.consumer_group_metadata(), SECONDS)
        if commit:
            writer.commit_transaction(SECONDS)
        else:
            writer.abort_transaction(SECONDS)
        (found,) = member.committed([TopicPartition(name, 0)], SECONDS)
        assert found.offset == expected
    member.close()


def test_a_transaction_that_takes_too_long_is_aborted(servers: str, topic: Callable[[int], str]) -> None:
    name = topic(1)
    slow = producer(servers, **{"transaction.timeout.ms": 1000})
    slow.begin_transaction()
    slow.produce(name, "late")
    slow.flush(SECONDS)
    deadline = time.monotonic() + SECONDS
    marked: list[str] = []
    while time.monotonic() < deadline:
        plain = Producer({"bootstrap.servers": servers})
        plain.produce(name, "mark")
        plain.flush(SECONDS)
        marked = read(servers, name)
        if marked:
            break
    assert set(marked) == {"mark"}
    with pytest.raises(KafkaException):
        slow.commit_transaction(SECONDS)


def test_aiokafka_commits_and_aborts(servers: str, topic: Callable[[int], str]) -> None:
    name = topic(2)

    async def write() -> None:
        writer = AIOKafkaProducer(bootstrap_servers=servers, transactional_id="aio")
        await writer.start()
        try:
            for number in range(6):
                await writer.begin_transaction()
                await writer.send_and_wait(name, f"{number}".encode(), partition=number % 2)
                offsets = {_aio_place(name): number + 1}
                await writer.send_offsets_to_transaction(offsets, "aio-group")
                await (writer.commit_transaction() if number % 2 else writer.abort_transaction())
        finally:
            await writer.stop()

    asyncio.run(asyncio.wait_for(write(), 60))
    assert sorted(read(servers, name)) == ["1", "3", "5"]
    member = consumer(servers, "aio-group")
    (found,) = member.committed([TopicPartition(name, 0)], SECONDS)
    assert found.offset == 6
    member.close()


def _aio_place(name: str) -> object:
    from aiokafka import TopicPartition as Place

    return Place(name, 0)
