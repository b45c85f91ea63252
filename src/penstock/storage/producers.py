"""What a log knows of its idempotent producers: epoch and last five batches of each, and snapshots of that.

`check` decides whether a producer's batch may be appended, `replay` accounts for a batch that was; after a
start the state is a snapshot plus the batches that follow it. The rules and the `.snapshot` format (version
1) are Kafka's. A snapshot keeps only the last batch of each producer, as Kafka's does; the batches replayed
after it bring more.
"""

from __future__ import annotations

from collections import deque
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.batch import NO_PRODUCER_EPOCH, BatchHeader

SNAPSHOT_SUFFIX = ".snapshot"
SNAPSHOT_VERSION = 1
REMEMBERED_BATCHES = 5
SEQUENCE_MASK = 0x7FFFFFFF
NO_COORDINATOR_EPOCH = -1
NO_TRANSACTION = -1
NO_SEQUENCE = -1
NO_OFFSET = -1

_HEADER = Struct(">hIi")
_CRC_END = 6
# producer id, producer epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch,
# first offset of the open transaction
_ENTRY = Struct(">qhiqiqiq")


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
    """One producer id as DescribeProducers tells it."""

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

    __slots__ = ("batches", "epoch", "timestamp")

    def __init__(self, epoch: int, timestamp: int) -> None:
        self.epoch = epoch
        self.timestamp = timestamp
        self.batches: deque[ProducerBatch] = deque(maxlen=REMEMBERED_BATCHES)


class Producers:
    """Every producer id that has written to one log and is not forgotten yet."""

    def __init__(self, expiration_ms: int) -> None:
        self.expiration_ms = expiration_ms
        self._producers: dict[int, Producer] = {}

    def __len__(self) -> int:
        return len(self._producers)

    def clear(self) -> None:
        self._producers.clear()

    def active(self) -> list[ActiveProducer]:
        """Every producer that is remembered."""
        return [
            ActiveProducer(
                producer_id,
                producer.epoch,
                producer.batches[-1].last_sequence if producer.batches else NO_SEQUENCE,
                producer.timestamp,
                NO_COORDINATOR_EPOCH,
                NO_TRANSACTION,
                producer.batches[-1].last_offset if producer.batches else NO_OFFSET,
            )
            for producer_id, producer in self._producers.items()
        ]

    def check(self, header: BatchHeader) -> ProducerBatch | None:
        """None when the batch comes next, its first copy when it is a duplicate; KafkaError otherwise."""
        producer = self._producers.get(header.producer_id)
        if producer is None:
            # Forgotten by expiry or retention, or new: there is nothing to compare with.
            return None
        epoch, base_sequence = header.producer_epoch, header.base_sequence
        if epoch < producer.epoch:
            message = f"producer {header.producer_id} has epoch {producer.epoch}, the batch has {epoch}"
            raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH, message)
        if epoch > producer.epoch:
            if base_sequence and producer.epoch != NO_PRODUCER_EPOCH:
                message = f"producer {header.producer_id} begins epoch {epoch} at sequence {base_sequence}"
                raise KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, message)
            return None
        expected = (producer.batches[-1].last_sequence + 1) & SEQUENCE_MASK if producer.batches else 0
        if base_sequence == expected:
            return None
        last_sequence = header.last_sequence
        for batch in producer.batches:
            if batch.last_sequence == last_sequence and batch.offset_delta == header.last_offset_delta:
                return batch
        message = f"producer {header.producer_id} sent sequence {base_sequence} where {expected} was expected"
        raise KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, message)

    def replay(self, header: BatchHeader, base_offset: int, timestamp: int) -> None:
        """Account for a batch with a producer id that stands in the log at `base_offset`."""
        producer = self._producers.get(header.producer_id)
        if producer is None:
            producer = self._producers[header.producer_id] = Producer(header.producer_epoch, timestamp)
        elif header.producer_epoch != producer.epoch:
            producer.epoch = header.producer_epoch
            producer.batches.clear()
        producer.timestamp = timestamp
        if not header.is_control:
            delta = header.last_offset_delta
            producer.batches.append(
                ProducerBatch(header.last_sequence, base_offset + delta, delta, timestamp)
            )

    def expire(self, now_ms: int) -> None:
        """Forget producers that wrote nothing for `producer.id.expiration.ms`."""
        oldest = now_ms - self.expiration_ms
        expired = [
            producer_id for producer_id, producer in self._producers.items() if producer.timestamp <= oldest
        ]
        for producer_id in expired:
            del self._producers[producer_id]

    # Snapshots

    def to_bytes(self) -> bytes:
        """The snapshot file."""
        entries = bytearray()
        for producer_id, producer in self._producers.items():
            last = producer.batches[-1] if producer.batches else ProducerBatch(-1, -1, 0, producer.timestamp)
            entries += _ENTRY.pack(
                producer_id,
                producer.epoch,
                *last[:3],
                producer.timestamp,
                NO_COORDINATOR_EPOCH,
                NO_TRANSACTION,
            )
        counted = len(self._producers).to_bytes(4, "big") + entries
        return SNAPSHOT_VERSION.to_bytes(2, "big") + crc32c(counted).to_bytes(4, "big") + counted

    def load(self, data: bytes, now_ms: int) -> None:
        """Become what the snapshot says, without what has expired; ValueError when it is damaged."""
        if len(data) < _HEADER.size:
            raise ValueError(f"{len(data)} bytes are too few for a snapshot")
        version, crc, count = _HEADER.unpack_from(data)
        if version != SNAPSHOT_VERSION:
            raise ValueError(f"snapshot version {version} is not {SNAPSHOT_VERSION}")
        if crc != crc32c(memoryview(data)[_CRC_END:]) or len(data) != _HEADER.size + count * _ENTRY.size:
            raise ValueError("the snapshot's CRC or size does not hold")
        self._producers = {}
        for producer_id, epoch, last_sequence, last_offset, delta, timestamp, _, _ in _ENTRY.iter_unpack(
            memoryview(data)[_HEADER.size :]
        ):
            producer = self._producers[producer_id] = Producer(epoch, timestamp)
            if last_offset >= 0:
                producer.batches.append(ProducerBatch(last_sequence, last_offset, delta, timestamp))
        self.expire(now_ms)
