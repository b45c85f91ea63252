"""A compacted topic as a table: read to its end, the last value of each key; and writers of such topics.

`FencedWriter` writes in transactions under one transactional id, so that a driver that was replaced cannot
write any more. Everything here blocks.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from penstock.client.admin import Admin
from penstock.client.errors import TopicExists
from penstock.client.librdkafka import Connection
from penstock.client.sending import NewRecord, Sender
from penstock.client.stream import Stream
from penstock.connect.config.shared_settings import DEAD_LETTERS
from penstock.connect.errors import ConnectError
from penstock.connect.worker.layout import Entry
from penstock.connect.worker.settings import WorkerSettings
from penstock.wire.deadline import Deadline

READ_SECONDS: Final = 60.0
WRITE_SECONDS: Final = 20.0
_FENCED: Final = ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")


class NotDriver(ConnectError):
    """Another worker has taken over: this one must not write."""


class WorkerTopics:
    """The three topics of a worker."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        servers, extra = settings.client.bootstrap_servers, settings.librdkafka
        self.connection = Connection(servers, WRITE_SECONDS, extra)
        self.admin = Admin(servers, settings=extra)
        self._sender: Sender | None = None

    def ensure(self, names: Sequence[str]) -> None:
        """Makes those that are missing, compacted."""
        cluster, topics = self.admin.describe()
        known = {topic.name for topic in topics}
        for name in names:
            if name not in known:
                replicas = min(self._settings.replicas.get(name, 3), max(1, len(cluster.brokers)))
                with suppress(TopicExists):  # another worker may be faster
                    partitions = self._settings.partitions.get(name, 25)
                    self.admin.create_topic(name, partitions, replicas, {"cleanup.policy": "compact"})

    def ensure_dead_letters(self, config: Mapping[str, str]) -> None:
        """Makes the dead-letter topic of a connector if it has one: one partition, as in Kafka."""
        name = config.get(DEAD_LETTERS)
        if not name:
            return
        cluster, topics = self.admin.describe()
        if name not in {topic.name for topic in topics}:
            wanted = int(config.get(f"{DEAD_LETTERS.removesuffix('name')}replication.factor") or 3)
            with suppress(TopicExists):
                self.admin.create_topic(name, 1, min(wanted, max(1, len(cluster.brokers))))

    def exists(self, name: str) -> bool:
        return any(topic.name == name for topic in self.admin.describe()[1])

    def read(self, name: str) -> dict[bytes, bytes | None]:
        """The last committed value of each key, as of now."""
        partitions = [each.index for each in self.admin.topic(name).partitions]
        starts = self.admin.start_offsets([(name, number) for number in partitions])
        found: dict[bytes, bytes | None] = {}
        deadline = Deadline(READ_SECONDS)
        where = {number: starts.get((name, number), 0) for number in partitions}
        with Stream(self.connection, name, where, complete=True) as stream:
            while not all(number in stream.ends for number in partitions):
                if deadline.passed:
                    raise ConnectError(f"the topic {name} could not be read in {READ_SECONDS:.0f} s")
                for message in stream.poll(0.2):
                    if message.key is not None:
                        found[message.key] = message.value
        return found

    def write(self, name: str, entries: Sequence[Entry]) -> None:
        """Returns when all are acknowledged."""
        if self._sender is None:
            self._sender = Sender(self.connection, linger_ms=0)
        for key, value in entries:
            self._sender.send(name, NewRecord(value, key))
        self._sender.flush()

    def fenced_writer(self, transactional_id: str) -> FencedWriter:
        return FencedWriter(self.connection, transactional_id)


class FencedWriter:
    """Takes the transactional id over when it is made."""

    def __init__(self, connection: Connection, transactional_id: str) -> None:
        from confluent_kafka import Producer

        self._producer: Any = Producer(
            connection.settings(transactional_id=transactional_id, linger_ms=0, partitioner="murmur2_random")
        )
        self._producer.init_transactions(WRITE_SECONDS)
        self._one_at_a_time = threading.Lock()

    def write(self, topic: str, entries: Sequence[Entry]) -> None:
        """All or none. NotDriver when another worker has taken over."""
        with self._one_at_a_time:
            self._write(topic, entries)

    def _write(self, topic: str, entries: Sequence[Entry]) -> None:
        from confluent_kafka import KafkaException

        try:
            self._producer.begin_transaction()
            for key, value in entries:
                self._producer.produce(topic, value, key)
            self._producer.commit_transaction(WRITE_SECONDS)
        except KafkaException as error:
            if error.args[0].name() in _FENCED:
                raise NotDriver("another worker of the group has taken over") from error
            with suppress(KafkaException):
                self._producer.abort_transaction(WRITE_SECONDS)
            raise ConnectError(f"{topic} could not be written: {error.args[0].str()}") from error
