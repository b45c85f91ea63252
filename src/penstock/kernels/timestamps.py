"""Timestamp extractors: which time a record counts with. A negative time means that the record is skipped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from penstock.kernels.record import Headers


class Incoming(NamedTuple):
    """A record as it came from its topic, deserialised."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: Any
    value: Any
    headers: Headers
    now_ms: int  # the wall clock when it was taken


class TimestampExtractor(Protocol):
    def __call__(self, record: Incoming, partition_time: int, /) -> int:
        """The record's time; `partition_time` is the newest one seen in its partition."""


class InvalidTimestamp(ValueError):
    """A record without a time, where every record must have one."""


@dataclass(frozen=True)
class FailOnInvalidTimestamp:
    """The record's own time: the producer's or the broker's. One without a time ends the application."""

    def __call__(self, record: Incoming, partition_time: int, /) -> int:
        if record.timestamp < 0:
            where = f"{record.topic}-{record.partition} at offset {record.offset}"
            raise InvalidTimestamp(
                f"the record of {where} has the timestamp {record.timestamp}; choose another extractor"
            )
        return record.timestamp


@dataclass(frozen=True)
class SkipOnInvalidTimestamp:
    """The record's own time; one without a time is skipped."""

    def __call__(self, record: Incoming, partition_time: int, /) -> int:
        return record.timestamp


@dataclass(frozen=True)
class PartitionTimeOnInvalidTimestamp:
    """The record's own time; one without a time gets the newest of its partition."""

    def __call__(self, record: Incoming, partition_time: int, /) -> int:
        if record.timestamp < 0 and partition_time < 0:
            raise InvalidTimestamp(f"the first record of {record.topic}-{record.partition} has no timestamp")
        return record.timestamp if record.timestamp >= 0 else partition_time


OWN_TIME: Final = (FailOnInvalidTimestamp, SkipOnInvalidTimestamp, PartitionTimeOnInvalidTimestamp)
"""Extractors that take a record's own time as it is, if it has one."""


@dataclass(frozen=True)
class WallclockTime:
    """Processing time: when the record is taken."""

    def __call__(self, record: Incoming, partition_time: int, /) -> int:
        return record.now_ms
