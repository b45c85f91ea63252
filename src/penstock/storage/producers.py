"""What a log knows of its producers: epoch and last five batches of each, and whose transactions are open.

`check*` decide whether a producer's batch or a coordinator's marker may be appended, `replay*` account for
one that was; after a start the state is a snapshot plus the batches that follow it. The rules are Kafka's
(`ProducerStateManager`, `ProducerAppendInfo`). A snapshot keeps only the last batch of each producer; the
batches replayed after it bring more, and `recall` brings those shortly before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.batch import NO_PRODUCER_EPOCH, BatchHeader
from penstock.records.control import EndMarker
from penstock.storage.aborted import Aborted
from penstock.storage.open_transactions import OpenTransactions
from penstock.storage.snapshot_format import SnapshotEntry, decode_snapshot, encode_snapshot
from penstock.storage.verification import Guard, Verifications

SNAPSHOT_SUFFIX = ".snapshot"
REMEMBERED_BATCHES = 5
RETRIED_WITHIN_MS = 600_000
"""Clients give up on a batch earlier: Java after two minutes, librdkafka after five."""
SEQUENCE_MASK = 0x7FFFFFFF
NO_COORDINATOR_EPOCH = -1
NO_TRANSACTION = -1
NO_SEQUENCE = -1
NO_OFFSET = -1
NO_EXPECTATION = -1
EPOCH_PER_TRANSACTION = 2
"""From this transaction version on a marker carries an epoch above that of the batches it ends (KIP-890)."""


class ProducerBatch(NamedTuple):
    """A batch that was appended, as far as a duplicate of it must be recognised."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def base_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & SEQUENCE_MASK

    @property
    def base_offset(self) -> int:
        return self.last_offset - self.offset_delta


class ActiveProducer(NamedTuple):
    """One producer id, as DescribeProducers shows it."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    transaction_start_offset: int
    last_offset: int
    """Of its last batch; NO_OFFSET when none is remembered."""


class Producer:
    """One producer id. Invariant: all remembered batches were sent under `epoch`."""

    __slots__ = ("batches", "coordinator_epoch", "epoch", "timestamp")

    def __init__(self, epoch: int, timestamp: int) -> None:
        self.epoch = epoch
        self.timestamp = timestamp
        # Of the last marker: a coordinator with an older one has been replaced.
        self.coordinator_epoch = NO_COORDINATOR_EPOCH
        self.batches: deque[ProducerBatch] = deque(maxlen=REMEMBERED_BATCHES)

    @property
    def next_sequence(self) -> int:
        return (self.batches[-1].last_sequence + 1) & SEQUENCE_MASK if self.batches else 0

    def enter(self, epoch: int, timestamp: int) -> None:
        """Something was written under `epoch`; under a new one sequences begin anew."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()
        self.timestamp = timestamp

    def find_copy(self, header: BatchHeader) -> ProducerBatch | None:
        """The batch that was appended already and comes again."""
        if header.producer_epoch != self.epoch or header.base_sequence == self.next_sequence:
            return None
        last_sequence, delta = header.last_sequence, header.last_offset_delta
        for batch in self.batches:
            if batch.last_sequence == last_sequence and batch.offset_delta == delta:
                return batch
        return None


class Producers:
    """Every producer id that has written to one log and is not forgotten yet."""

    def __init__(self, expiration_ms: int, *, verifying: bool = True) -> None:
        self.expiration_ms = expiration_ms
        self.verifying = verifying  # `transaction.partition.verification.enable`
        self._producers: dict[int, Producer] = {}
        self._transactions = OpenTransactions()
        self._verifications = Verifications()
        # Told with every append: not worth a method that only passes it on.
        self.commit = self._transactions.commit
        """Markers below this high watermark are known to all replicas."""

    def __len__(self) -> int:
        return len(self._producers)

    def clear(self) -> None:
        self._producers.clear()
        self._transactions.clear()

    def active(self) -> list[ActiveProducer]:
        """Every producer that is remembered."""
        return [
            ActiveProducer(
                entry.producer_id,
                entry.producer_epoch,
                entry.last_sequence,
                entry.timestamp,
                entry.coordinator_epoch,
                entry.transaction_start_offset,
                entry.last_offset,
            )
            for entry in self._entries()
        ]

    # What is not stable

    def first_unstable(self) -> int | None:
        """Where the oldest transaction begins whose end is not known to all replicas."""
        return self._transactions.first_unstable()

    def has_open_transaction(self, producer_id: int, epoch: int) -> bool:
        producer = self._producers.get(producer_id)
        return (
            producer is not None
            and producer.epoch == epoch
            and self._transactions.first_offset(producer_id) is not None
        )

    def begin_verification(
        self, producer_id: int, epoch: int, sequence: int, *, epoch_bump: bool, now_ms: int
    ) -> Guard | None:
        """The guard to show with the batch once the coordinator knows of it; None when it need not be
        asked, because this transaction has written here before."""
        if self.has_open_transaction(producer_id, epoch):
            return None
        return self._verifications.begin(producer_id, epoch, sequence, epoch_bump=epoch_bump, now_ms=now_ms)

    # Decisions

    def knows(self, producer_id: int) -> bool:
        """Whether there is something to compare its next batch with."""
        return producer_id in self._producers

    def expectation(self, producer_id: int) -> tuple[int, int]:
        """The epoch and the sequence of the next batch that `check` lets pass without a guard. NO_EXPECTATION
        as epoch for a producer with a transaction, or of which nothing is known."""
        producer = self._producers.get(producer_id)
        if (
            producer is None
            or not producer.batches
            or self._transactions.first_offset(producer_id) is not None
            or self._verifications.lowest_sequence(producer_id) is not None
        ):
            return NO_EXPECTATION, 0
        return producer.epoch, producer.next_sequence

    def check(self, header: BatchHeader, guard: Guard | None = None) -> ProducerBatch | None:
        """Of a client's batch: None when it comes next, its first copy when it is a duplicate."""
        producer = self._producers.get(header.producer_id)
        if producer is not None and (first_copy := producer.find_copy(header)) is not None:
            return first_copy
        self.check_coordinated(header, guard)
        self._check_sequence(header, producer, guard)
        return None

    def check_coordinated(self, header: BatchHeader, guard: Guard | None = None) -> None:
        """Of a batch that a coordinator writes for a producer: it has no sequence, but an epoch."""
        producer_id, epoch = header.producer_id, header.producer_epoch
        if header.is_transactional and not (
            self.has_open_transaction(producer_id, epoch)
            or not self.verifying
            or self._verifications.holds(producer_id, guard)
        ):
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, "Record was not part of an ongoing transaction")
        producer = self._producers.get(producer_id)
        if producer is not None and epoch < producer.epoch:
            message = f"producer {producer_id} has epoch {producer.epoch}, the batch has {epoch}"
            raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH, message)
        if not header.is_transactional and self._transactions.first_offset(producer_id) is not None:
            message = f"producer {producer_id} writes outside of the transaction that it has open here"
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, message)

    def check_marker(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, transaction_version: int
    ) -> None:
        """Whether a coordinator may end this producer's transaction."""
        producer = self._producers.get(producer_id)
        if producer is None:
            return
        bumped = transaction_version >= EPOCH_PER_TRANSACTION
        # The answer to a marker may be lost, and the marker come again: then nothing is open any more.
        again = producer_epoch == producer.epoch and self._transactions.first_offset(producer_id) is None
        if producer_epoch < producer.epoch or (bumped and producer_epoch == producer.epoch and not again):
            message = f"producer {producer_id} has epoch {producer.epoch}, the marker has {producer_epoch}"
            raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH, message)
        if coordinator_epoch < producer.coordinator_epoch:
            message = (
                f"the marker for producer {producer_id} comes from coordinator epoch {coordinator_epoch}, "
                f"which {producer.coordinator_epoch} has replaced"
            )
            raise KafkaError(ErrorCode.TRANSACTION_COORDINATOR_FENCED, message)

    def _check_sequence(self, header: BatchHeader, producer: Producer | None, guard: Guard | None) -> None:
        producer_id, sequence = header.producer_id, header.base_sequence
        lowest = self._verifications.lowest_sequence(producer_id)
        if lowest is not None and sequence > lowest:
            raise _out_of_order(f"producer {producer_id} sent sequence {sequence} before {lowest}")
        if producer is None or producer.epoch == NO_PRODUCER_EPOCH:
            # Forgotten by expiry or retention, or new: there is nothing to compare with. But where every
            # transaction has an epoch of its own, nothing can have been forgotten.
            if sequence and guard is not None and guard.epoch_bump:
                raise _out_of_order(f"producer {producer_id} begins at sequence {sequence}")
        elif header.producer_epoch > producer.epoch:
            if sequence:
                epoch = header.producer_epoch
                raise _out_of_order(f"producer {producer_id} begins epoch {epoch} at sequence {sequence}")
        elif sequence != producer.next_sequence:
            expected = producer.next_sequence
            raise _out_of_order(
                f"producer {producer_id} sent sequence {sequence} where {expected} was expected"
            )

    # Replay

    def replay(self, header: BatchHeader, base_offset: int, timestamp: int) -> None:
        """Account for a data batch with a producer id that stands in the log at `base_offset`."""
        producer = self._enter(header, timestamp)
        delta = header.last_offset_delta
        producer.batches.append(ProducerBatch(header.last_sequence, base_offset + delta, delta, timestamp))
        if header.is_transactional:
            self._transactions.begin(header.producer_id, base_offset)
            self._verifications.void(header.producer_id)

    def replay_marker(
        self, header: BatchHeader, marker: EndMarker | None, offset: int, timestamp: int
    ) -> Aborted | None:
        """Account for a control batch; the transaction, if one has been aborted by it. One without marker
        was emptied by the cleaner: it says the epoch and nothing else."""
        producer = self._enter(header, timestamp)
        producer_id = header.producer_id
        self._verifications.end(producer_id, header.producer_epoch)
        if marker is None:
            return None
        producer.coordinator_epoch = marker.coordinator_epoch
        ended = self._transactions.end(producer_id, offset)
        if ended is None or marker.commit:
            return None
        return Aborted(producer_id, ended.first_offset, offset, ended.last_stable_offset)

    def _enter(self, header: BatchHeader, timestamp: int) -> Producer:
        producer = self._producers.get(header.producer_id)
        if producer is None:
            producer = self._producers[header.producer_id] = Producer(header.producer_epoch, timestamp)
        else:
            producer.enter(header.producer_epoch, timestamp)
        return producer

    def expire(self, now_ms: int) -> None:
        """Forget producers that wrote nothing for `producer.id.expiration.ms` and have nothing open."""
        oldest = now_ms - self.expiration_ms
        self._verifications.expire(oldest)
        expired = [
            producer_id
            for producer_id, producer in self._producers.items()
            if producer.timestamp <= oldest and self._transactions.first_offset(producer_id) is None
        ]
        for producer_id in expired:
            del self._producers[producer_id]

    # Snapshots

    def to_bytes(self) -> bytes:
        """The snapshot file."""
        return encode_snapshot(self._entries())

    def load(self, data: bytes, now_ms: int) -> None:
        """Become what the snapshot says, without what has expired; ValueError when it is damaged."""
        entries = decode_snapshot(data)
        self.clear()
        for entry in sorted(entries, key=_transaction_start):
            producer = Producer(entry.producer_epoch, entry.timestamp)
            producer.coordinator_epoch = entry.coordinator_epoch
            if entry.last_offset >= 0:
                producer.batches.append(
                    ProducerBatch(entry.last_sequence, entry.last_offset, entry.offset_delta, entry.timestamp)
                )
            self._producers[entry.producer_id] = producer
            if entry.transaction_start_offset >= 0:
                self._transactions.begin(entry.producer_id, entry.transaction_start_offset)
        self.expire(now_ms)

    def may_retry(self, now_ms: int) -> bool:
        """Whether a producer has written so lately that it may send its last batches again."""
        oldest = now_ms - RETRIED_WITHIN_MS
        return any(producer.timestamp > oldest for producer in self._producers.values())

    def recall(self, headers: Iterable[BatchHeader]) -> None:
        """Remember batches that stand in the log before those of a snapshot that was just loaded. A producer
        with several batches under way may send all of them again after a restart."""
        earlier: dict[int, deque[ProducerBatch]] = {}
        for header in headers:
            producer = self._producers.get(header.producer_id)
            if producer is None or header.is_control or header.producer_epoch != producer.epoch:
                continue
            delta = header.last_offset_delta
            last_offset = header.base_offset + delta
            if producer.batches and last_offset < producer.batches[0].base_offset:
                found = earlier.setdefault(header.producer_id, deque(maxlen=REMEMBERED_BATCHES - 1))
                found.append(ProducerBatch(header.last_sequence, last_offset, delta, header.max_timestamp))
        for producer_id, found in earlier.items():
            self._producers[producer_id].batches.extendleft(reversed(found))

    def _entries(self) -> list[SnapshotEntry]:
        return [self._entry(producer_id, producer) for producer_id, producer in self._producers.items()]

    def _entry(self, producer_id: int, producer: Producer) -> SnapshotEntry:
        last = producer.batches[-1] if producer.batches else _NO_BATCH
        first_offset = self._transactions.first_offset(producer_id)
        return SnapshotEntry(
            producer_id,
            producer.epoch,
            last.last_sequence,
            last.last_offset,
            last.offset_delta,
            producer.timestamp,
            producer.coordinator_epoch,
            NO_TRANSACTION if first_offset is None else first_offset,
        )


_NO_BATCH = ProducerBatch(NO_SEQUENCE, NO_OFFSET, 0, 0)


def _out_of_order(message: str) -> KafkaError:
    return KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, message)


def _transaction_start(entry: SnapshotEntry) -> int:
    return entry.transaction_start_offset
