"""What users of Java's client rely on, tried against a real broker: blocking, expiry and its order, members
that were too slow, stale commits, fencing. Each test fails if the client only almost does it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from penstock.client import (
    Admin,
    AsyncConsumer,
    AsyncProducer,
    OffsetAndMetadata,
    Producer,
    RebalanceListener,
    TopicPartition,
)
from penstock.client.api.exceptions import (
    BufferExhaustedException,
    CommitFailedException,
    KafkaException,
    ProducerFencedException,
    RetriableException,
    TimeoutException,
    WakeupException,
)
from penstock.testing import Broker
from tests.client.api.conftest import poll_until
from tests.client.api.test_consumer import consumer, fill, values


class Heard(RebalanceListener):
    def __init__(self) -> None:
        self.events: list[tuple[str, frozenset[TopicPartition]]] = []

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self.events.append(("assigned", frozenset(partitions)))

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self.events.append(("revoked", frozenset(partitions)))

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        self.events.append(("lost", frozenset(partitions)))

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.events]


# The producer's buffer and deadlines


@pytest.mark.long
def test_a_full_buffer_blocks_for_max_block_ms_and_no_longer() -> None:
    with Broker() as broker:
        servers = broker.bootstrap_servers
        settings = {"buffer.memory": 50_000, "max.block.ms": 700, "linger.ms": 0,
                    "delivery.timeout.ms": 30_000, "request.timeout.ms": 5_000}  # fmt: skip
        sender = Producer({"bootstrap.servers": servers, **settings})
        sender.send("t", b"before").result(20)
        broker.stop()
        futures, waits = [], []
        for _ in range(8):
            began = time.monotonic()
            futures.append(sender.send("t", b"x" * 10_000))
            waits.append(time.monotonic() - began)
        failed = [future for future in futures if future.done()]
        assert failed, "nothing was refused, although the buffer holds five"
        assert all(isinstance(each.exception(0), BufferExhaustedException) for each in failed)
        assert all(isinstance(each.exception(0), TimeoutException) for each in failed)
        for future, wait in zip(futures, waits, strict=True):
            if future in failed:
                assert 0.65 < wait < 3
            else:
                assert wait < 0.5
        sender.close(0)


def test_room_that_comes_lets_a_blocked_send_go_on(bootstrap: str, topic: str) -> None:
    settings = {"buffer.memory": 100_000, "max.block.ms": 20_000}
    with Producer({"bootstrap.servers": bootstrap, **settings}) as sender:
        futures = [sender.send(topic, b"x" * 10_000) for _ in range(300)]
        assert [future.result(20).offset for future in futures] == list(range(300))


@pytest.mark.long
def test_records_expire_in_their_order_and_callbacks_come_in_the_order_of_each_partition() -> None:
    with Broker() as broker:
        servers = broker.bootstrap_servers
        with Producer({"bootstrap.servers": servers}) as maker:
            maker.send("t", b"x").result(20)
        heard: list[tuple[int, type[BaseException] | None]] = []
        settings = {"delivery.timeout.ms": 1500, "request.timeout.ms": 1000, "linger.ms": 0}
        sender = Producer({"bootstrap.servers": servers, **settings})
        sender.send("t", b"before").result(20)
        broker.stop()
        began = time.monotonic()
        futures = []
        for number in range(200):
            futures.append(
                sender.send(
                    "t",
                    b"%d" % number,
                    callback=lambda metadata, error, number=number: heard.append((number, type(error))),
                )
            )
        failures = [future.exception(20) for future in futures]
        took = time.monotonic() - began
        sender.close(0)
    assert all(isinstance(each, TimeoutException) for each in failures)
    assert 1.4 < took < 8, took
    assert heard == [(number, TimeoutException) for number in range(200)]


@pytest.mark.long
def test_close_with_a_timeout_fails_what_is_left_and_calls_back() -> None:
    with Broker() as broker:
        sender = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 0})
        sender.send("t", b"before").result(20)
        broker.stop()
        heard: list[Any] = []
        future = sender.send("t", b"left", callback=lambda metadata, error: heard.append(error))
        began = time.monotonic()
        sender.close(0.5)
        assert time.monotonic() - began < 8
        assert isinstance(future.exception(0), KafkaException)
        assert len(heard) == 1


# Groups


def test_a_member_that_polls_too_late_cannot_commit_and_joins_again(bootstrap: str, topic: str) -> None:
    """max.poll.interval.ms: the next commit fails, the partitions are lost, and the next poll joins."""
    fill(bootstrap, topic, 20)
    heard, group, at = Heard(), f"g-{topic}", TopicPartition(topic, 0)
    slow = {"max_poll_interval_ms": 1500, "heartbeat_interval_ms": 300}
    with (
        consumer(bootstrap, group, enable_auto_commit=False, max_poll_records=5, **slow) as reader,
        Admin({"bootstrap.servers": bootstrap}) as admin,
    ):
        reader.subscribe([topic], heard)
        assert values(poll_until(reader, 5)) == [0, 1, 2, 3, 4]
        deadline = time.monotonic() + 30
        while admin.describe_consumer_groups([group]).all().result(10)[group].members:
            assert time.monotonic() < deadline
        with pytest.raises(CommitFailedException):
            reader.commit_sync()
        assert at not in reader.committed([at])
        assert values(poll_until(reader, 20)) == list(range(20))
        reader.commit_sync()
        assert reader.committed([at])[at].offset == 20
    assert heard.kinds() == ["assigned", "lost", "assigned", "revoked"]


def test_partitions_assigned_after_a_subscription_ended_are_read(bootstrap: str, topic: str) -> None:
    """unsubscribe() gives the group's partitions back before it returns, and the listener hears of it."""
    fill(bootstrap, topic, 10)
    heard, at = Heard(), TopicPartition(topic, 0)
    with consumer(bootstrap, f"g-{topic}", enable_auto_commit=False) as reader:
        reader.subscribe([topic], heard)
        assert len(poll_until(reader, 10)) == 10
        reader.unsubscribe()
        assert heard.kinds() == ["assigned", "revoked"]
        assert reader.assignment() == frozenset()
        reader.assign([at])
        assert values(poll_until(reader, 10)) == list(range(10))
        reader.unsubscribe()
        reader.subscribe([topic], heard)
        assert values(poll_until(reader, 10)) == list(range(10))


@pytest.mark.long
def test_pauses_survive_polls_but_not_a_rebalance(bootstrap: str, topic_of: Callable[..., str]) -> None:
    topic = topic_of(2)
    fill(bootstrap, topic, 4, partition=0)
    fill(bootstrap, topic, 4, partition=1)
    both = {TopicPartition(topic, 0), TopicPartition(topic, 1)}
    with consumer(bootstrap, f"g-{topic}", enable_auto_commit=False) as first:
        first.subscribe([topic])
        poll_until(first, 8)
        first.pause(both)
        for _ in range(5):
            assert first.poll(0.05).is_empty()
        assert first.paused() == both
        with consumer(bootstrap, f"g-{topic}", enable_auto_commit=False) as second:
            second.subscribe([topic])
            deadline = time.monotonic() + 30
            while len(first.assignment()) != 1 or len(second.assignment()) != 1:
                assert time.monotonic() < deadline
                first.poll(0.1)
                second.poll(0.1)
            # With the eager protocol everything was revoked: what came back is not paused.
            assert first.paused() == frozenset()


@pytest.mark.long
def test_close_commits_and_leaves_so_that_another_member_need_not_wait(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 10)
    first = consumer(bootstrap, f"g-{topic}", session_timeout_ms=45_000)
    first.subscribe([topic])
    assert values(poll_until(first, 10)) == list(range(10))
    first.close(10)
    fill(bootstrap, topic, 1)
    with consumer(bootstrap, f"g-{topic}") as second:
        second.subscribe([topic])
        began = time.monotonic()
        assert len(poll_until(second, 1)) == 1
        assert time.monotonic() - began < 20


def test_close_hears_of_the_revocation_and_the_listener_may_commit_there(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 10)
    at = TopicPartition(topic, 0)

    class CommitsWhenRevoked(RebalanceListener):
        def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
            reader.commit_sync({each: OffsetAndMetadata(reader.position(each)) for each in partitions})

    reader = consumer(bootstrap, f"g-{topic}", enable_auto_commit=False, max_poll_records=4)
    reader.subscribe([topic], CommitsWhenRevoked())
    assert values(poll_until(reader, 4)) == [0, 1, 2, 3]
    reader.close()
    with consumer(bootstrap, f"g-{topic}", enable_auto_commit=False) as observer:
        assert observer.committed([at])[at].offset == 4


@pytest.mark.long
def test_a_commit_in_on_partitions_revoked_keeps_the_next_member_from_repeating(
    bootstrap: str, topic: str
) -> None:
    """A rebalance in the middle of processing: what the first one worked on is committed before it goes."""
    fill(bootstrap, topic, 50)

    class CommitsWhenRevoked(RebalanceListener):
        def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
            if any(each in first.assignment() for each in partitions):
                first.commit_sync()

    seen: list[int] = []
    with consumer(bootstrap, f"g-{topic}", enable_auto_commit=False, max_poll_records=7) as first:
        first.subscribe([topic], CommitsWhenRevoked())
        seen += values(poll_until(first, 7))
        with consumer(bootstrap, f"g-{topic}", enable_auto_commit=False, max_poll_records=7) as second:
            second.subscribe([topic])
            deadline = time.monotonic() + 30
            while len(seen) < 50 and time.monotonic() < deadline:
                seen += values(first.poll(0.1))
                seen += values(second.poll(0.1))
    assert seen == list(range(50))


def test_wakeup_ends_a_synchronous_commit_too_and_only_one_call(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 3)
    at = TopicPartition(topic, 0)
    with consumer(bootstrap, f"g-{topic}", enable_auto_commit=False) as reader:
        reader.subscribe([topic])
        poll_until(reader, 3)
        reader.wakeup()
        with pytest.raises(WakeupException):
            reader.commit_sync()
        reader.commit_sync()
        assert reader.committed([at])[at].offset == 3


@pytest.mark.long
def test_wakeups_from_many_threads_lose_no_record(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 3000)
    ends = threading.Event()
    with consumer(bootstrap, f"g-{topic}", max_poll_records=20) as reader:
        reader.subscribe([topic])

        def wake() -> None:
            while not ends.wait(0.002):
                reader.wakeup()

        threads = [threading.Thread(target=wake) for _ in range(2)]
        for thread in threads:
            thread.start()
        found: list[int] = []
        woken, deadline = 0, time.monotonic() + 60
        while len(found) < 3000 and time.monotonic() < deadline:
            try:
                found += values(reader.poll(1))
            except WakeupException:
                woken += 1
        ends.set()
        for thread in threads:
            thread.join()
    assert found == list(range(3000))
    assert woken


# Transactions


def test_a_fenced_producer_can_do_nothing_but_close(bootstrap: str, topic: str) -> None:
    settings = {"bootstrap.servers": bootstrap, "transactional.id": f"t-{topic}"}
    with Producer(settings) as first, Producer(settings) as second:
        first.init_transactions(20)
        first.begin_transaction()
        first.send(topic, b"zombie").result(20)
        second.init_transactions(20)
        with second.transaction():
            second.send(topic, b"kept")
        failure = first.send(topic, b"zombie again").exception(20)
        assert isinstance(failure, KafkaException)
        with pytest.raises(ProducerFencedException):
            first.commit_transaction(20)
        with pytest.raises(ProducerFencedException):
            first.abort_transaction(20)
        with pytest.raises(ProducerFencedException):
            first.begin_transaction()
    reading = consumer(bootstrap, isolation_level="read_committed")
    with reading as reader:
        reader.assign([TopicPartition(topic, 0)])
        assert [each.value for each in poll_until(reader, 1)] == [b"kept"]


@pytest.mark.long
def test_read_committed_skips_aborted_data_among_committed_and_waits_for_open_ones(
    bootstrap: str, topic: str
) -> None:
    with (
        Producer({"bootstrap.servers": bootstrap, "transactional.id": f"a-{topic}"}) as one,
        Producer({"bootstrap.servers": bootstrap, "transactional.id": f"b-{topic}"}) as two,
        consumer(bootstrap, isolation_level="read_committed") as reader,
        consumer(bootstrap) as dirty,
    ):
        for each in (one, two):
            each.init_transactions(20)
        for number in range(20):
            one.begin_transaction()
            one.send(topic, b"%d" % number)
            one.flush(20)
            if number % 3:
                one.commit_transaction(20)
            else:
                one.abort_transaction(20)
        two.begin_transaction()
        two.send(topic, b"100").result(20)
        with one.transaction():
            one.send(topic, b"101")
        wanted = [number for number in range(20) if number % 3]
        for each in (reader, dirty):
            each.assign([TopicPartition(topic, 0)])
        assert values(poll_until(reader, len(wanted))) == wanted
        assert reader.poll(0.5).is_empty()  # behind the open transaction
        assert values(poll_until(dirty, 22)) == [*range(20), 100, 101]
        two.commit_transaction(20)
        assert values(poll_until(reader, 2)) == [100, 101]


def test_offsets_of_a_member_that_was_given_up_are_refused_in_a_transaction(
    bootstrap: str, topic_of: Callable[..., str]
) -> None:
    """The group's metadata are of a stale generation: a zombie must not commit for its group."""
    source, target = topic_of(), topic_of()
    fill(bootstrap, source, 10)
    at = TopicPartition(source, 0)
    slow = {"max_poll_interval_ms": 1500, "heartbeat_interval_ms": 300}
    with (
        consumer(bootstrap, f"g-{source}", enable_auto_commit=False, **slow) as zombie,
        Producer({"bootstrap.servers": bootstrap, "transactional.id": f"t-{source}"}) as sender,
        consumer(bootstrap, f"g-{source}", enable_auto_commit=False) as heir,
    ):
        sender.init_transactions(20)
        zombie.subscribe([source])
        records = poll_until(zombie, 10)
        stale = zombie.group_metadata()
        heir.subscribe([source])
        assert len(poll_until(heir, 10, 30)) == 10
        sender.begin_transaction()
        sender.send(target, b"result")
        with pytest.raises(CommitFailedException):
            sender.send_offsets_to_transaction({at: records[-1].offset + 1}, stale)
        sender.abort_transaction(20)
        assert at not in heir.committed([at])
        with sender.transaction():
            sender.send_offsets_to_transaction({at: 10}, heir.group_metadata())
    with consumer(bootstrap, f"g-{source}", enable_auto_commit=False) as observer:
        deadline = time.monotonic() + 20
        while at not in (found := observer.committed([at])) and time.monotonic() < deadline:
            pass
        assert found[at].offset == 10


@pytest.mark.long
def test_a_transaction_goes_on_after_an_abort_that_followed_an_error(bootstrap: str, topic: str) -> None:
    settings = {"bootstrap.servers": bootstrap, "transactional.id": f"t-{topic}", "max.block.ms": 1000}
    with Producer(settings) as sender:
        sender.init_transactions(20)
        for number in range(3):
            sender.begin_transaction()
            sender.send(topic, b"gone")
            assert isinstance(sender.send("not-there", b"v").exception(20), TimeoutException)
            with pytest.raises(KafkaException) as raised:
                sender.commit_transaction(20)
            assert not isinstance(raised.value, RetriableException)
            sender.abort_transaction(20)
            with sender.transaction():
                sender.send(topic, b"%d" % number)
    with consumer(bootstrap, isolation_level="read_committed") as reader:
        reader.assign([TopicPartition(topic, 0)])
        assert values(poll_until(reader, 3)) == [0, 1, 2]


# asyncio


def test_cancelled_calls_of_every_kind_leave_the_consumer_usable(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 200)
    at = TopicPartition(topic, 0)

    async def work() -> list[int]:
        settings = {"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest", "group.id": f"g-{topic}",
                    "enable.auto.commit": False, "max.poll.records": 10}  # fmt: skip
        found: list[int] = []
        async with AsyncConsumer(settings) as reader:
            await reader.subscribe([topic])
            async with asyncio.timeout(60):
                while len(found) < 200:
                    task = asyncio.create_task(reader.poll(5))
                    await asyncio.sleep(0)
                    task.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await task
                    found += values(await reader.poll(5))
                    commit = asyncio.create_task(reader.commit())
                    await asyncio.sleep(0)
                    commit.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await commit
                    assert await reader.position(at) == (found[-1] + 1 if found else 0)
                    if found:  # a commit that was cancelled is still made
                        assert (await reader.committed([at]))[at].offset == found[-1] + 1
        return found

    assert asyncio.run(work()) == list(range(200))


@pytest.mark.long
def test_cancelled_sends_are_made_once_at_most_and_in_order(bootstrap: str, topic: str) -> None:
    async def work() -> tuple[int, list[int]]:
        cancelled = 0
        settings = {"bootstrap.servers": bootstrap, "buffer.memory": 60_000, "linger.ms": 20}
        async with AsyncProducer(settings) as sender:
            for number in range(300):
                try:
                    async with asyncio.timeout(0.001 if number % 3 == 0 else 30):
                        await sender.send(topic, b"%d " % number + b"x" * 2000)
                except TimeoutError:
                    cancelled += 1
            await sender.flush()
        reading = {"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest"}
        found: list[int] = []
        async with AsyncConsumer(reading) as reader:
            await reader.assign([TopicPartition(topic, 0)])
            while more := await reader.poll(3):
                found += [int(each.value.split()[0]) for each in more]
        return cancelled, found

    cancelled, found = asyncio.run(work())
    assert len(found) == len(set(found)) >= 300 - cancelled
    assert set(range(300)) - set(found) <= {number for number in range(300) if number % 3 == 0}
