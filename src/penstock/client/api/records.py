"""Records as people see them: what is sent, where it went, what was read. Values only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.protocol.topic_partition import TopicPartition as TopicPartition

Headers = Sequence[tuple[str, bytes | None]]


class OffsetAndMetadata(NamedTuple):
    """A committed offset names the next record to read."""

    offset: int
    metadata: str = ""
    leader_epoch: int | None = None


class OffsetAndTimestamp(NamedTuple):
    offset: int
    timestamp: int  # milliseconds; that of the look-up where the broker does not report the record's own


@dataclass(slots=True)
class ProducerRecord:
    """A record to send. Interceptors may change it or return another."""

    topic: str
    value: Any = None
    key: Any = None
    partition: int | None = None
    headers: Headers = ()
    timestamp: int | None = None  # milliseconds


class RecordMetadata(NamedTuple):
    """Where an acknowledged record is. `offset` is -1 with acks=0."""

    topic: str
    partition: int
    offset: int
    timestamp: int  # milliseconds; -1 where there is none


class ConsumerRecord(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp: int  # milliseconds; -1 where there is none
    key: Any
    value: Any
    headers: Headers
    leader_epoch: int | None = None
    timestamp_type: str | None = None  # "CreateTime" or "LogAppendTime"; None where there is no timestamp
    delivery_count: int | None = None  # of a share group: how often a member was given it


class ConsumerRecords(Sequence[ConsumerRecord]):
    """What one `poll` read: records in the order of each partition. Records that need no deserializer are
    made when the first of them is looked at."""

    __slots__ = ("_made", "_make", "_records")

    def __init__(
        self,
        records: Sequence[ConsumerRecord],
        make: Callable[[Sequence[Any]], Sequence[ConsumerRecord]] | None = None,
    ) -> None:
        """With `make`, `records` are what it makes records of."""
        self._records: Sequence[Any] = records
        self._made = records if make is None else None
        self._make: Callable[[Sequence[Any]], Sequence[ConsumerRecord]] = make or list

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[ConsumerRecord]:
        return iter(self._all())

    def __getitem__(self, index: Any) -> Any:
        return self._all()[index]

    def __repr__(self) -> str:
        return f"ConsumerRecords({len(self._records)} records of {sorted(self.partitions())})"

    def is_empty(self) -> bool:
        return not self._records

    def count(self, value: Any = None) -> int:  # Java's name; `Sequence.count` would want a value
        return len(self._records) if value is None else list(self._all()).count(value)

    def partitions(self) -> set[TopicPartition]:
        return {TopicPartition(record.topic, record.partition) for record in self._all()}

    def records(self, of: TopicPartition | str) -> list[ConsumerRecord]:
        """Those of a partition, or of a topic."""
        if isinstance(of, str):
            return [record for record in self._all() if record.topic == of]
        return [record for record in self._all() if (record.topic, record.partition) == tuple(of)]

    def _all(self) -> Sequence[ConsumerRecord]:
        # Read in this order, so that two threads may look at the records at the same time.
        messages, made = self._records, self._made
        if made is None:
            made = self._made = self._make(messages)
            self._records = made
        return made


Offsets = Mapping[TopicPartition, OffsetAndMetadata]
