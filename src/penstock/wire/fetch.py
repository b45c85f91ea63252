"""A range of a partition, batch by batch, as the bytes that the broker stored.

The next request is under way while the caller works on the answer before: broker and caller work side by
side. Batches are not decompressed here. What is left out: control batches, and under read_committed the
batches of transactions that were aborted. Offsets may have gaps (compaction), and the first and the last
batch may hold records outside the range: the caller keeps those that it wants.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.fetch import READ_COMMITTED, READ_UNCOMMITTED, AbortedTransaction
from penstock.protocol.primitives import MalformedMessage
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.batch import MAGIC, BatchHeader, CorruptBatch, check_crc, iter_headers
from penstock.records.control import read_marker
from penstock.wire import fetch_messages
from penstock.wire.cluster import REQUEST_SECONDS, Cluster, Leader
from penstock.wire.connection import Connection
from penstock.wire.deadline import Deadline
from penstock.wire.errors import (
    DeadlineExceeded,
    Malformed,
    OffsetOutOfRange,
    Refused,
    UnknownTopic,
    WireError,
)

FETCH_BYTES: Final = 4 * 1024 * 1024
MAX_WAIT_MS: Final = 500
IDLE_SECONDS: Final = 60.0
# How long a topic may be unknown to the cluster before it counts as deleted.
VANISHED_SECONDS: Final = 3.0


class Batch(NamedTuple):
    """One batch, header included, in a buffer that nobody else uses."""

    header: BatchHeader
    data: memoryview


class FetchOptions(NamedTuple):
    max_bytes: int = FETCH_BYTES
    """Of one answer; a batch that is larger still comes whole."""
    max_wait_ms: int = MAX_WAIT_MS
    """How long the broker may hold a request when there is nothing new."""
    idle_seconds: float = IDLE_SECONDS
    """How long nothing may come at all before the reading fails."""
    read_committed: bool = False


def fetch(
    cluster: Cluster, partition: TopicPartition, start: int, end: int, options: FetchOptions | None = None
) -> Iterator[Batch]:
    """Every batch with a record at offset `start` or later and before `end`; waits for those still to come.

    Raises `OffsetOutOfRange` when the log begins after `start` or ends before it, `DeadlineExceeded` when
    nothing comes for `idle_seconds`. A new leader is found and asked for what did not arrive.
    """
    return _Reading(cluster, partition, start, end, options or FetchOptions()).batches()


class _Reading:
    def __init__(
        self, cluster: Cluster, partition: TopicPartition, start: int, end: int, options: FetchOptions
    ) -> None:
        self._cluster = cluster
        self._partition = partition
        self._next_offset = start
        self._end = end
        self._options = options
        self._isolation = READ_COMMITTED if options.read_committed else READ_UNCOMMITTED
        self._last_error: WireError | None = None
        self._progressed()

    def _progressed(self) -> None:
        self._idle = Deadline(self._options.idle_seconds)
        self._failures = 0
        self._vanished: Deadline | None = None

    def _may_pass(self, error: WireError) -> bool:
        """Whether to try again. A broker that has just started may not know its topics for a moment."""
        if isinstance(error, UnknownTopic):
            self._vanished = self._vanished or Deadline(VANISHED_SECONDS)
            return not self._vanished.passed
        return error.retriable

    def batches(self) -> Iterator[Batch]:
        while self._next_offset < self._end:
            try:
                yield from self._from_leader()
            except WireError as error:
                if not self._may_pass(error):
                    raise
                self._last_error = error
                self._cluster.forget(self._partition.topic)
                self._idle.pause(self._failures)
                self._failures += 1
            if self._next_offset < self._end and self._idle.passed:
                raise self._starved()

    def _from_leader(self) -> Iterator[Batch]:
        """Read on to the end, to an error, or until nothing has come for too long."""
        leader = self._cluster.leader(self._partition, self._idle)
        with self._cluster.connection(leader.node_id, self._idle) as connection:
            version = connection.version(
                Api.FETCH, fetch_messages.VERSIONS[0], fetch_messages.newest_version(leader.topic_id)
            )
            self._ask(connection, version, leader)
            while True:
                batches = self._accept(self._receive(connection, version))
                if self._next_offset >= self._end or self._idle.passed:
                    yield from batches
                    return
                self._ask(connection, version, leader)
                if batches:
                    yield from batches
                    self._progressed()  # the caller's own time is not counted

    def _ask(self, connection: Connection, version: int, leader: Leader) -> None:
        topic, partition = self._partition
        max_bytes = self._options.max_bytes
        wanted = fetch_messages.Wanted(
            topic, leader.topic_id, partition, leader.leader_epoch, self._next_offset, max_bytes
        )
        request = fetch_messages.encode_request(
            version,
            wanted,
            max_wait_ms=self._options.max_wait_ms,
            max_bytes=max_bytes,
            isolation=self._isolation,
        )
        connection.send(Api.FETCH, version, [request], Deadline(REQUEST_SECONDS))

    def _receive(self, connection: Connection, version: int) -> fetch_messages.FetchedPartition:
        body = connection.receive(Deadline(REQUEST_SECONDS + self._options.max_wait_ms / 1000))
        try:
            error, answers = fetch_messages.read_response(version, body)
        except MalformedMessage as malformed:
            connection.close()
            raise Malformed(f"FETCH of {connection.address}: {malformed}") from None
        if error is ErrorCode.NONE and len(answers) != 1:
            raise Malformed(f"{connection.address} answered a fetch of {self._partition} with {len(answers)}")
        code = error if error is not ErrorCode.NONE else answers[0].error
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            raise OffsetOutOfRange(
                f"{self._partition} has nothing at offset {self._next_offset}: it was deleted by retention, "
                f"or the topic was truncated or created anew"
            )
        if code is not ErrorCode.NONE:
            raise Refused(code, f"fetching {self._partition} from {connection.address}: {code.name}")
        return answers[0]

    def _accept(self, answer: fetch_messages.FetchedPartition) -> list[Batch]:
        """The wanted batches of an answer; the position moves past all of them."""
        aborted = _Aborted(answer.aborted) if self._options.read_committed else None
        accepted, seen = [], False
        for position, header in self._whole_batches(answer):
            seen = True
            if header.last_offset < self._next_offset:
                continue  # compaction can leave a batch without the records that its offsets speak of
            if header.base_offset >= self._end:
                self._next_offset = self._end
                break
            self._next_offset = header.next_offset
            self._progressed()
            data = answer.records[position : position + header.size_bytes]
            if not header.is_control and not (aborted and aborted.contains(header)):
                accepted.append(Batch(header, data))
            elif aborted and header.is_control:
                aborted.end_transaction(header, data)
        if answer.records and not seen:
            raise Malformed(f"{self._partition}: a part of a batch at offset {self._next_offset} and no more")
        return accepted

    def _whole_batches(self, answer: fetch_messages.FetchedPartition) -> Iterator[tuple[int, BatchHeader]]:
        try:
            for position, header in iter_headers(answer.records):
                if header.magic != MAGIC:
                    raise CorruptBatch(f"message format {header.magic} is older than Kafka 0.11")
                check_crc(answer.records, position, header)
                yield position, header
        except CorruptBatch as corrupt:
            raise Malformed(f"{self._partition} near offset {self._next_offset}: {corrupt}") from None

    def _starved(self) -> DeadlineExceeded:
        reason = f" (last: {self._last_error})" if self._last_error else ""
        return DeadlineExceeded(
            f"{self._partition}: offsets {self._next_offset} to {self._end} were expected and nothing came "
            f"for {self._options.idle_seconds:.0f} s{reason}: is the broker up, and was the log truncated?"
        )


class _Aborted:
    """Which batches of one answer belong to aborted transactions (as Kafka's own consumer decides it)."""

    def __init__(self, transactions: tuple[AbortedTransaction, ...]) -> None:
        self._ahead = sorted(transactions, key=lambda transaction: transaction.first_offset, reverse=True)
        self._producers: set[int] = set()

    def contains(self, header: BatchHeader) -> bool:
        while self._ahead and self._ahead[-1].first_offset <= header.last_offset:
            self._producers.add(self._ahead.pop().producer_id)
        return header.is_transactional and header.producer_id in self._producers

    def end_transaction(self, header: BatchHeader, data: memoryview) -> None:
        """An abort marker ends its producer's transaction; what that producer sends next counts again."""
        marker = read_marker(data)
        if marker is not None and not marker.commit:
            self._producers.discard(header.producer_id)
