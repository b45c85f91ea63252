"""The situations of tests/compat/ExceptionsCheck.java, for our client: what is raised, or in the future."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penstock.client import (
    Admin,
    Consumer,
    IntegerDeserializer,
    NewTopic,
    OffsetAndMetadata,
    Producer,
    RebalanceListener,
    SerializationException,
    StringDeserializer,
    StringSerializer,
    TopicPartition,
)

LARGE = "x" * 3000
AT = TopicPartition("plain", 0)
Told = dict[str, str]


class InTheFuture(Exception):
    """What a future had; the cause is it."""


def outcome(run: Callable[[], Any]) -> str:
    try:
        found = run()
        if found is not None:
            try:
                found.result(60)
            except Exception as error:
                raise InTheFuture from error
    except InTheFuture as error:
        return f"future {type(error.__cause__).__name__}"
    except Exception as error:
        return f"raised {type(error).__name__}"
    return "nothing"


class Situations:
    def __init__(self, servers: str) -> None:
        self.servers = servers
        self.member: Consumer

    def producer(self, **more: Any) -> Producer:
        named = {name.replace("_", "."): value for name, value in more.items()}
        serializers = {"key.serializer": StringSerializer, "value.serializer": StringSerializer}
        return Producer({"bootstrap.servers": self.servers, "max.block.ms": 10_000, **serializers, **named})

    def consumer(self, group: str | None, **more: Any) -> Consumer:
        named = {name.replace("_", "."): value for name, value in more.items()}
        grouped = {} if group is None else {"group.id": group}
        return Consumer(
            {
                "bootstrap.servers": self.servers,
                "auto.offset.reset": "earliest",
                "value.deserializer": StringDeserializer,
                **grouped,
                **named,
            }
        )

    def send(
        self, topic: str, value: str = "a", partition: int | None = None, at: int | None = None, **more: Any
    ) -> Any:
        with self.producer(**more) as producer:
            return producer.send(topic, value, partition=partition, timestamp=at)

    def poll(self, consumer: Consumer, rounds: int) -> None:
        for _ in range(rounds):
            if consumer.poll(0.5):
                break

    def all(self) -> Told:
        found = {**self.producing(), **self.consuming(), **self.rebalancing(), **self.administering()}
        return {name: outcome(run) for name, run in found.items()}

    def producing(self) -> dict[str, Callable[[], Any]]:
        return {
            "a record above max.request.size": lambda: self.send("plain", LARGE, max_request_size=2000),
            "a record above buffer.memory": lambda: self.send(
                "plain", LARGE, buffer_memory=2500, batch_size=1000
            ),
            "a record above the topic's max.message.bytes": lambda: self.send("small", LARGE),
            "an unknown topic": lambda: self.send("not-there", max_block_ms=1500),
            "a partition that is not there": lambda: self.send("plain", partition=7, max_block_ms=1500),
            "a topic's name that is not allowed": lambda: self.send("no/name"),
            "a timestamp that the topic refuses": lambda: self.send("timed", at=1),
            "no key for a compacted topic": lambda: self.send("compacted"),
            "a serializer that fails": lambda: self.send("plain", value_serializer=_failing),
            "sending with a closed producer": self._closed_producer,
            "a setting with a wrong value": lambda: self.producer(linger_ms="soon").close(),
            "idempotence without acks=all": lambda: self.producer(enable_idempotence=True, acks="1").close(),
            "a transaction without transactional.id": self._without_id,
            "committing when another producer has the id": self._fenced,
        }

    def consuming(self) -> dict[str, Callable[[], Any]]:
        return {
            "polling without a subscription": lambda: self._with("g", lambda c: self.poll(c, 1)),
            "subscribing without a group.id": lambda: self._with(None, lambda c: c.subscribe(["plain"])),
            "committing without a group.id": lambda: self._assigned(None, lambda c: c.commit_sync()),
            "subscribing after assigning": lambda: self._assigned("g", lambda c: c.subscribe(["plain"])),
            "seeking in a partition that is not assigned": lambda: self._with("g", lambda c: c.seek(AT, 0)),
            "no offset, and auto.offset.reset=none": lambda: self._assigned(
                "none", lambda c: self.poll(c, 20), auto_offset_reset="none"
            ),
            "an offset out of range, and auto.offset.reset=none": lambda: self._assigned(
                "range", lambda c: (c.seek(AT, 1000), self.poll(c, 20))[1], auto_offset_reset="none"
            ),
            "wakeup() before a poll": lambda: self._assigned("g", lambda c: (c.wakeup(), self.poll(c, 1))[1]),
            "a value that the deserializer cannot read": lambda: self._assigned(
                None,
                lambda c: self.poll(c, 20),
                TopicPartition("words", 0),
                value_deserializer=IntegerDeserializer,
            ),
            "using a closed consumer": self._closed_consumer,
            "committing after the group gave the member up": self._removed,
        }

    def rebalancing(self) -> dict[str, Callable[[], Any]]:
        return {
            "committing in the middle of a rebalance": self._moving,
            "committing in the middle of a rebalance, after polls that ended it": self._moved,
            "committing in on_partitions_revoked": self._listened,
        }

    def administering(self) -> dict[str, Callable[[], Any]]:
        wrong = {"retention.ms": "soon"}
        return {
            "creating a topic that is there": lambda: self._create(NewTopic("plain", 1, 1)),
            "creating a topic without partitions": lambda: self._create(NewTopic("a", 0, 1)),
            "creating a topic with more replicas than brokers": lambda: self._create(NewTopic("b", 1, 9)),
            "creating a topic with a wrong setting": lambda: self._create(NewTopic("c", 1, 1, configs=wrong)),
            "deleting a topic that is not there": lambda: self._ask(
                lambda a: a.delete_topics(["not-there"]).all()
            ),
            "describing a topic that is not there": lambda: self._ask(
                lambda a: a.describe_topics(["not-there"]).all_topic_names()
            ),
            "deleting a group that is not there": lambda: self._ask(
                lambda a: a.delete_consumer_groups(["not-there"]).all()
            ),
        }

    def away(self, directory: Path) -> Told:
        """Waits for the broker to go and to come back: files say when."""
        told = {}
        with self.producer(delivery_timeout_ms=120_000) as producer:
            producer.send("plain", "before").result(60)
            (directory / "ready").touch()
            _await(directory / "restarted")
            told["a broker that was restarted"] = outcome(lambda: producer.send("plain", "after"))
        late = self.producer(delivery_timeout_ms=3000, request_timeout_ms=2000, linger_ms=0)
        full = self.producer(buffer_memory=40_000, max_block_ms=1000)
        for each in (late, full):
            each.send("plain", "before").result(60)
        (directory / "again").touch()
        _await(directory / "gone")
        told["no broker within delivery.timeout.ms"] = outcome(lambda: late.send("plain", "lost"))
        told["a full buffer for max.block.ms"] = outcome(
            lambda: [full.send("plain", "x" * 15_000) for _ in range(5)][-1]
        )
        late.close(0)
        full.close(0)
        return told

    def failover(self, directory: Path) -> Told:
        """Waits for the leader of the topic to be killed: files say when."""
        told = {}
        with self.producer() as producer, self.consumer("failover", enable_auto_commit=False) as reader:
            producer.send("plain", "before").result(60)
            reader.subscribe(["plain"])
            self.poll(reader, 60)
            (directory / "ready").touch()
            _await(directory / "killed")
            told["sending when the leader was killed"] = outcome(lambda: producer.send("plain", "after"))

            def read_on() -> None:
                deadline = time.monotonic() + 60
                while not any(record.value == "after" for record in reader.poll(0.5)):
                    assert time.monotonic() < deadline, "the record did not come"

            told["reading on when the leader was killed"] = outcome(read_on)
            told["committing when a broker was killed"] = outcome(reader.commit_sync)
        with self.producer(transactional_id="failover") as producer:

            def transact() -> None:
                producer.init_transactions()
                with producer.transaction():
                    producer.send("plain", "a").result(60)

            told["a transaction when a broker was killed"] = outcome(transact)
        return told

    @contextmanager
    def _admin(self) -> Iterator[Admin]:
        with Admin({"bootstrap.servers": self.servers}) as admin:
            yield admin

    def _ask(self, run: Callable[[Admin], Future[Any]]) -> Future[Any]:
        with self._admin() as admin:
            found = run(admin)
            found.exception(60)
            return found

    def _create(self, topic: NewTopic) -> Future[Any]:
        return self._ask(lambda admin: admin.create_topics([topic]).all())

    def _with(self, group: str | None, run: Callable[[Consumer], Any], **more: Any) -> None:
        with self.consumer(group, **more) as consumer:
            run(consumer)

    def _assigned(
        self, group: str | None, run: Callable[[Consumer], Any], at: TopicPartition = AT, **more: Any
    ) -> None:
        with self.consumer(group, **more) as consumer:
            consumer.assign([at])
            run(consumer)

    def _closed_producer(self) -> Any:
        producer = self.producer()
        producer.close()
        return producer.send("plain", "a")

    def _closed_consumer(self) -> None:
        consumer = self.consumer("g")
        consumer.close()
        self.poll(consumer, 1)

    def _without_id(self) -> None:
        with self.producer() as producer:
            producer.init_transactions()

    def _fenced(self) -> None:
        with (
            self.producer(transactional_id="fenced") as first,
            self.producer(transactional_id="fenced") as second,
        ):
            first.init_transactions()
            first.begin_transaction()
            first.send("plain", "a").result(30)
            second.init_transactions()
            first.commit_transaction()

    @contextmanager
    def _two(
        self, group: str, listener: RebalanceListener | None = None
    ) -> Iterator[tuple[Consumer, Consumer]]:
        """Two members; the first has given its partition back, and the group has not given it away again."""
        eager = {
            "enable_auto_commit": False,
            "heartbeat_interval_ms": 500,
            "partition_assignment_strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
        }
        with self.consumer(group, **eager) as first, self.consumer(group, **eager) as second:
            self.member = first
            first.subscribe(["plain"], listener)
            self.poll(first, 40)
            second.subscribe(["plain"])
            while first.assignment():
                second.poll(0.1)
                first.poll(0)
            yield first, second

    def _moving(self) -> None:
        with self._two("moving") as (first, _):
            first.commit_sync({AT: OffsetAndMetadata(0)})

    def _moved(self) -> None:
        with self._two("moved") as (first, second):
            while not (first.assignment() or second.assignment()):
                first.poll(0.1)
                second.poll(0.1)
            (first if first.assignment() else second).commit_sync({AT: OffsetAndMetadata(0)})

    def _listened(self) -> None:
        caught: list[Exception] = []

        class Commits(RebalanceListener):
            def on_partitions_revoked(_, partitions: Sequence[TopicPartition]) -> None:  # noqa: N805
                try:
                    self.member.commit_sync({AT: OffsetAndMetadata(0)})
                except Exception as error:
                    caught.append(error)

        with self._two("listened", Commits()):
            pass
        if caught:
            raise caught[0]

    def _removed(self) -> None:
        with self.consumer("removed", heartbeat_interval_ms=500, enable_auto_commit=False) as consumer:
            consumer.subscribe(["plain"])
            self.poll(consumer, 40)
            with self._admin() as admin:
                admin.remove_members_from_consumer_group("removed").result(30)
            consumer.commit_sync({AT: OffsetAndMetadata(0)})


def _failing(data: Any) -> bytes:
    raise SerializationException("no")


def _await(file: Path) -> None:
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline, file
        time.sleep(0.05)
