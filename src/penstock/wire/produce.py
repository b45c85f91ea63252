"""Records to partitions, acknowledged by all in-sync replicas, and once each although requests are
repeated.

A `Producer` is idempotent (KIP-98): the broker tells a repeated batch from a new one by producer id and
sequence number. Batches of a partition are under way one at a time, or a few behind each other on one
connection (`in_flight`), so nothing overtakes. The guarantee ends with the object: whoever starts over with
a new `Producer` after a failure may write what was already written. In a `Transaction`
(`penstock.wire.transactions`) that is harmless, because only what is committed counts; whoever starts over
there needs a new epoch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Final, NamedTuple

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.primitives import MalformedMessage
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.codecs import Codec
from penstock.wire import produce_messages
from penstock.wire.cluster import REQUEST_SECONDS, Cluster
from penstock.wire.connection import Connection
from penstock.wire.coordinators import Coordinator, Kind
from penstock.wire.deadline import Deadline, retrying
from penstock.wire.errors import (
    DeliveryFailed,
    Fenced,
    Malformed,
    Refused,
    UnknownTopic,
    WireError,
    error_code,
)
from penstock.wire.pack import Packed, Stored, seal, split
from penstock.wire.transactions import FENCED_CODES, Transaction, add_partitions

# Below Kafka's default `message.max.bytes` with room for the batch's own header.
BATCH_BYTES: Final = 1_000_000
BUFFER_BYTES: Final = 16 * 1024 * 1024
DELIVERY_SECONDS: Final = 120.0
UNKNOWN_OFFSET: Final = -1
"""A batch that an earlier attempt has written, so long ago that the broker does not know where."""
_INIT_PRODUCER_ID_VERSIONS: Final = (0, 4)
_SPLITTABLE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)


class ProducerOptions(NamedTuple):
    codec: Codec = Codec.NONE
    buffer_bytes: int = BUFFER_BYTES
    """What may gather in memory, uncompressed, before it is sent."""
    delivery_seconds: float = DELIVERY_SECONDS
    """How long one delivery may take with all its retries."""
    transaction: Transaction | None = None
    """The transaction to write in; this producer is then the only writer of its partitions in it."""
    in_flight: int = 1
    """How many batches of a partition are sent before the first is acknowledged; brokers remember five."""
    on_acknowledged: Callable[[TopicPartition, int, int], None] | None = None
    """Told of each batch in its partition's order: the partition, the offset of its first record (or
    `UNKNOWN_OFFSET`), and how many records it has."""


class _Waiting(NamedTuple):
    """A batch and the sequence number of its first record."""

    packed: Packed | Stored
    sequence: int


class _Queue:
    """What is to go to one partition, in order."""

    def __init__(self) -> None:
        self.waiting: deque[_Waiting] = deque()
        self._next_sequence = 0

    def add(self, packed: Packed | Stored) -> None:
        self.waiting.append(_Waiting(packed, self._next_sequence))
        self._next_sequence = _after(self._next_sequence, packed.record_count)

    def split_first(self) -> None:
        """Two batches in place of one; the broker refused the whole, so the numbers are still free."""
        packed, sequence = self.waiting.popleft()
        first, second = split(packed)
        self.waiting.appendleft(_Waiting(second, _after(sequence, first.record_count)))
        self.waiting.appendleft(_Waiting(first, sequence))


class _UnderWay(NamedTuple):
    """A request whose answer has not come."""

    connection: Connection
    version: int
    partitions: list[TopicPartition]


def _after(sequence: int, count: int) -> int:
    """Sequence numbers wrap from 2^31-1 to 0."""
    return (sequence + count) & 0x7FFFFFFF


class Producer:
    """For one thread. `send` gathers batches, `flush` returns when everything is acknowledged."""

    def __init__(self, cluster: Cluster, options: ProducerOptions | None = None) -> None:
        self._cluster = cluster
        self._options = options or ProducerOptions()
        self._queues: dict[TopicPartition, _Queue] = {}
        self._gathered_bytes = 0
        transaction = self._options.transaction
        self._identity = transaction and (transaction.producer_id, transaction.producer_epoch)
        self._joined: set[TopicPartition] = set()
        self._failed = False
        self.acknowledged = 0
        """Records that all in-sync replicas have."""
        self.ends: dict[TopicPartition, int] = {}
        """The offset after the last record written to each partition."""

    def send(self, partition: TopicPartition, packed: Packed | Stored) -> None:
        """Take a batch; when many have gathered they are sent first."""
        if self._gathered_bytes + len(packed.payload) > self._options.buffer_bytes:
            self.flush()
        self._queues.setdefault(partition, _Queue()).add(packed)
        self._gathered_bytes += len(packed.payload)

    def flush(self) -> None:
        """Send what has gathered. On return it is acknowledged; after an exception this producer is done."""
        if self._failed:
            raise DeliveryFailed("this producer has failed before: what it wrote since is unknown")
        self._gathered_bytes = 0
        deadline = Deadline(self._options.delivery_seconds)
        self._failed = True  # until the opposite is known
        attempt = 0
        while any(queue.waiting for queue in self._queues.values()):
            problem = self._round(deadline)
            if problem is None:
                attempt = 0
                continue
            if deadline.passed:
                waiting = sum(w.packed.record_count for queue in self._queues.values() for w in queue.waiting)
                raise DeliveryFailed(
                    f"{waiting} records not acknowledged by {self._cluster.bootstrap_servers} in "
                    f"{deadline.seconds:.0f} s; the last reason: {problem}"
                ) from problem
            deadline.pause(attempt)
            attempt += 1
        self._failed = False

    def _round(self, deadline: Deadline) -> WireError | None:
        """Send the first batch of every partition, wait for all answers; a retriable problem is returned."""
        try:
            identity = self._identity = self._identity or self._ask_identity(deadline)
            by_leader = self._by_leader(deadline)
            self._join_transaction(by_leader, deadline)
        except WireError as error:
            if not error.retriable:
                raise
            self._forget()
            return error
        problem: WireError | None = None
        with ExitStack() as lent:
            under_way: list[_UnderWay] = []
            for node_id, partitions in by_leader.items():
                try:
                    connection = lent.enter_context(self._cluster.connection(node_id, deadline))
                    for sent in self._posted(connection, partitions, identity, deadline):
                        under_way.append(sent)
                except WireError as error:
                    problem = self._retriable(error)
            failed: set[TopicPartition] = set()
            for sent in under_way:
                try:
                    problem = self._collect(sent, failed, deadline) or problem
                except WireError as error:
                    failed |= set(sent.partitions)
                    problem = self._retriable(error)
        if problem is not None:
            self._forget()
        return problem

    def _posted(
        self,
        connection: Connection,
        partitions: list[TopicPartition],
        identity: tuple[int, int],
        deadline: Deadline,
    ) -> Iterator[_UnderWay]:
        """Send the first batch of each partition, then the second of each, and so on. A partition's very
        first batch goes alone: a broker that does not know the producer yet takes any sequence number."""
        for depth in range(self._options.in_flight):
            wanted = [
                partition
                for partition in partitions
                if depth < len(self._queues[partition].waiting) and (not depth or partition in self.ends)
            ]
            if not wanted:
                return
            version = self._post(connection, wanted, depth, identity, deadline)
            yield _UnderWay(connection, version, wanted)

    def _retriable(self, error: WireError) -> WireError:
        if not error.retriable:
            raise error
        return error

    def _forget(self) -> None:
        for partition, queue in self._queues.items():
            if queue.waiting:
                self._cluster.forget(partition.topic)

    def _by_leader(self, deadline: Deadline) -> dict[int, list[TopicPartition]]:
        """The partitions that have something to send; together they hold no more than may gather."""
        grouped: dict[int, list[TopicPartition]] = {}
        for partition, queue in self._queues.items():
            if queue.waiting:
                leader = self._cluster.leader(partition, deadline)
                grouped.setdefault(leader.node_id, []).append(partition)
        return grouped

    def _join_transaction(self, by_leader: dict[int, list[TopicPartition]], deadline: Deadline) -> None:
        transaction = self._options.transaction
        if transaction is None or transaction.version >= 2:  # a batch joins its partition by itself
            return
        new = {partition for partitions in by_leader.values() for partition in partitions} - self._joined
        if new:
            coordinator = Coordinator(self._cluster, Kind.TRANSACTION, transaction.transactional_id)
            add_partitions(coordinator, transaction, sorted(new), deadline)
            self._joined |= new

    def _post(
        self,
        connection: Connection,
        partitions: list[TopicPartition],
        depth: int,
        identity: tuple[int, int],
        deadline: Deadline,
    ) -> int:
        transaction = self._options.transaction
        version = connection.version(Api.PRODUCE, *_versions(transaction))
        batches = {}
        for partition in partitions:
            packed, sequence = self._queues[partition].waiting[depth]
            batches[partition] = seal(
                packed,
                self._options.codec,
                producer_id=identity[0],
                producer_epoch=identity[1],
                sequence=sequence,
                transactional=transaction is not None,
            )
        limit = deadline.sooner(REQUEST_SECONDS)
        timeout_ms = max(1, int(limit.seconds * 1000))
        request = produce_messages.encode_request(
            version,
            batches,
            timeout_ms=timeout_ms,
            transactional_id=None if transaction is None else transaction.transactional_id,
        )
        connection.send(Api.PRODUCE, version, request, limit)
        return version

    def _collect(self, sent: _UnderWay, failed: set[TopicPartition], deadline: Deadline) -> WireError | None:
        connection, version, partitions = sent
        body = connection.receive(deadline.sooner(REQUEST_SECONDS))
        try:
            results = produce_messages.read_response(version, body)
            if results.keys() != set(partitions):
                raise MalformedMessage("the answer speaks of other partitions than the request")
        except MalformedMessage as error:
            connection.close()
            raise Malformed(f"PRODUCE of {connection.address}: {error}") from None
        problem = None
        for partition, result in results.items():
            if partition in failed:  # the batch before it failed, so this one is out of order
                continue
            waiting = len(self._queues[partition].waiting)
            problem = self._judge(partition, result, connection) or problem
            if len(self._queues[partition].waiting) >= waiting:
                failed.add(partition)
        return problem

    def _judge(
        self, partition: TopicPartition, result: produce_messages.Result, connection: Connection
    ) -> WireError | None:
        queue = self._queues[partition]
        # The broker has remembered more batches since: ours was written by an earlier attempt.
        if result.error in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            count = queue.waiting.popleft().packed.record_count
            self.acknowledged += count
            self.ends[partition] = max(self.ends.get(partition, 0), result.base_offset + count)
            if self._options.on_acknowledged is not None:
                self._options.on_acknowledged(partition, result.base_offset, count)
            return None
        if result.error in _SPLITTABLE and queue.waiting[0].packed.record_count > 1:
            queue.split_first()
            return None
        reason = f"{connection.address} refused a batch for {partition}: {result.error.name}"
        if result.message:
            reason += f" ({result.message})"
        if result.error in FENCED_CODES:
            raise Fenced(
                result.error,
                f"{reason}: its transaction is over. Another run of this pipeline has begun, or the "
                "transaction was open for longer than its timeout",
            )
        if not KafkaError(result.error).retriable:
            raise DeliveryFailed(reason)
        return Refused(result.error, reason)

    def _ask_identity(self, deadline: Deadline) -> tuple[int, int]:
        fields = {
            "transactional_id": None,
            "transaction_timeout": -1,
            "producer_id": -1,
            "producer_epoch": -1,
        }
        oldest, newest = _INIT_PRODUCER_ID_VERSIONS

        def ask() -> tuple[int, int]:
            with self._cluster.any_connection(deadline) as connection:
                answer = connection.call(
                    Api.INIT_PRODUCER_ID,
                    fields,
                    deadline.sooner(REQUEST_SECONDS),
                    oldest=oldest,
                    newest=newest,
                )
                code = error_code(answer.error_code)
                if code is not ErrorCode.NONE:
                    raise Refused(code, f"{connection.address} gave no producer id: {code.name}")
                return answer.producer_id, answer.producer_epoch

        return retrying(deadline, "a producer id", ask)


def _versions(transaction: Transaction | None) -> tuple[int, int]:
    """Produce from version 12 on is what joins a partition to a transaction; older ones must not."""
    oldest, newest = produce_messages.VERSIONS
    if transaction is None:
        return oldest, newest
    implicit = produce_messages.JOINS_TRANSACTIONS
    return (implicit, newest) if transaction.version >= 2 else (oldest, implicit - 1)


def partition_count(cluster: Cluster, topic: str, deadline: Deadline) -> int:
    """How many partitions to spread over. A missing topic is created where the broker's settings let it."""
    count = len(cluster.topic(topic, deadline, create=True).partitions)
    if not count:
        raise UnknownTopic(f"topic {topic!r} at {cluster.bootstrap_servers} has no partitions")
    return count
