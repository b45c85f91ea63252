"""Records as bytes, as tasks take and give them: their order, and what becomes of unreadable ones."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from typing import Final, NamedTuple

from penstock.kernels.record import Headers
from penstock.kernels.serdes import SerdeError

LONGEST_TRACE: Final = 16_000
"""Characters of a stack trace in a header; the end of a longer one is kept."""


class RawRecord(NamedTuple):
    """A record of a topic as bytes."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class Produced(NamedTuple):
    """A record for a topic; where `partition` is none, the key says which."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers = ()
    partition: int | None = None


class RecordColumns(NamedTuple):
    """Records of one topic, column by column, in the order in which a task takes them."""

    topic: str
    partitions: Sequence[int]
    offsets: Sequence[int]
    timestamps: Sequence[int]
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[Headers]

    def records(self) -> Iterator[RawRecord]:
        return map(self.record, range(len(self.keys)))

    def record(self, at: int) -> RawRecord:
        return RawRecord(
            self.topic,
            self.partitions[at],
            self.offsets[at],
            self.timestamps[at],
            self.keys[at],
            self.values[at],
            self.headers[at],
        )


class ProducedColumns(NamedTuple):
    """Records that a task has produced, column by column."""

    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    topics: Sequence[str]
    partitions: Sequence[int | None]
    timestamps: Sequence[int]
    headers: Sequence[Headers]


class BadRecord(RuntimeError):
    """A record whose bytes cannot be read, in an application that must not go on without it."""


OnBadRecord = Callable[[RawRecord, SerdeError], Produced | None]
"""What becomes of a poison pill: raise, or skip it, or give the record for a dead-letter topic."""


def fail(record: RawRecord, error: SerdeError) -> Produced | None:
    where = f"{record.topic}-{record.partition} at offset {record.offset}"
    raise BadRecord(f"the record of {where} cannot be read: {error}") from error


def skip(record: RawRecord, error: SerdeError) -> Produced | None:
    return None


@dataclass(frozen=True)
class DeadLetters:
    """Puts poison pills as they are into a topic, with Kafka's headers saying why and whence (KIP-1034)."""

    topic: str

    def __call__(self, record: RawRecord, error: SerdeError) -> Produced | None:
        reasons = error_headers(error, record.topic, record.partition, record.offset)
        return Produced(self.topic, record.key, record.value, record.timestamp, (*record.headers, *reasons))


def error_headers(error: Exception, topic: str, partition: int, offset: int) -> Headers:
    """The headers of a dead letter, with Kafka's names."""
    trace = "".join(traceback.format_exception(error))
    return (
        ("__streams.errors.exception", type(error).__name__.encode()),
        ("__streams.errors.message", str(error).encode()),
        ("__streams.errors.stacktrace", trace[-LONGEST_TRACE:].encode()),
        ("__streams.errors.topic", topic.encode()),
        ("__streams.errors.partition", str(partition).encode()),
        ("__streams.errors.offset", str(offset).encode()),
    )


Times = Callable[[Sequence[RawRecord]], Iterable[int]]
"""The times with which the records of one partition, which are given in order, count."""


def own_times(records: Sequence[RawRecord]) -> Iterable[int]:
    return (record.timestamp for record in records)


def merged(records: Iterable[RawRecord], times: Times = own_times) -> Iterable[RawRecord]:
    """Records of several partitions in the order in which Kafka Streams takes them."""
    queues: dict[tuple[str, int], list[RawRecord]] = {}
    for record in records:
        place = record[:2]
        if place in queues:
            queues[place].append(record)
        else:
            queues[place] = [record]
    if len(queues) == 1:
        return next(iter(queues.values()))
    return _merge([zip(times(queue), queue, strict=True) for queue in queues.values()])


def _merge(queues: list[Iterator[tuple[int, RawRecord]]]) -> Iterator[RawRecord]:
    """The smallest head first; of equal ones, that of the queue that came first."""
    heads = ((next(queue), number, queue) for number, queue in enumerate(queues))
    heap = [(time, number, head, queue) for (time, head), number, queue in heads]
    heapify(heap)
    while heap:
        _, number, head, queue = heap[0]
        yield head
        following = next(queue, None)
        if following is None:
            heappop(heap)
        else:
            heapreplace(heap, (following[0], number, following[1], queue))
