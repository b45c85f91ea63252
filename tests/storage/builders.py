"""What the tests of storage build with: a clock that stands still, batches, logs, and what a log holds."""

from __future__ import annotations

import dataclasses
from random import Random
from typing import Any

from penstock.records.batch import BatchHeader, iter_headers
from penstock.records.codecs import Codec
from penstock.records.record import Record, decode_batch, encode_batch
from penstock.settings.topic import TopicSettings
from penstock.storage.disk import Disk
from penstock.storage.log import Log
from penstock.storage.outcomes import Appended
from penstock.testing.disk import SimDisk

NOW_MS = 1_700_000_000_000


class StillClock:
    """Time moves when the test says so."""

    def __init__(self, now_ms: int = NOW_MS) -> None:
        self.time_ms = now_ms

    def now_ms(self) -> int:
        return self.time_ms

    def monotonic(self) -> float:
        return self.time_ms / 1000

    def pass_ms(self, elapsed_ms: int) -> None:
        self.time_ms += elapsed_ms


def sim_disk(seed: int = 1) -> SimDisk:
    return SimDisk(Random(seed))


def settings(**changes: Any) -> TopicSettings:
    return dataclasses.replace(TopicSettings(), **changes)


def open_log(
    disk: Disk,
    clock: StillClock | None = None,
    *,
    path: str = "/data/topic-0",
    clean: bool = False,
    **options: Any,
) -> Log:
    topic_settings = options.pop("settings", None) or settings()
    return Log.open(
        disk, path, topic_settings, clock or StillClock(), clean=clean, random=Random(1), **options
    )


def batch(
    *values: bytes, timestamp_ms: int = NOW_MS, codec: Codec = Codec.NONE, **options: Any
) -> memoryview:
    """A batch of records with these values, the second one millisecond after the first, and so on."""
    records = [Record(b"key", value, timestamp_ms=timestamp_ms + index) for index, value in enumerate(values)]
    return memoryview(encode_batch(records, codec=codec, **options))


def append(log: Log, *values: bytes, leader_epoch: int = 0, **options: Any) -> Appended:
    return log.append_produced(log.examine(batch(*values, **options)), leader_epoch=leader_epoch)


def append_many(log: Log, count: int, size: int = 100) -> list[bytes]:
    """Append `count` batches of one record; their values."""
    start = log.log_end_offset
    values = [b"%d:" % offset + bytes(size) for offset in range(start, start + count)]
    for value in values:
        append(log, value)
    return values


def headers(log: Log) -> list[BatchHeader]:
    """Every batch from the start of the log to its end, through `read`."""
    found: list[BatchHeader] = []
    offset = log.log_start_offset
    while (piece := log.read(offset, 1 << 20)) is not None:
        found += [header for _, header in iter_headers(piece.read())]
        offset = found[-1].next_offset
    return found


def records(log: Log) -> list[Record]:
    """Every record from the start of the log to its end, through `read`."""
    found: list[Record] = []
    offset = log.log_start_offset
    while (piece := log.read(offset, 1 << 20)) is not None:
        data = piece.read()
        for position, header in iter_headers(data):
            found += [
                record for record in decode_batch(data, position) if record.offset >= log.log_start_offset
            ]
            offset = header.next_offset
    return found


def values(log: Log) -> list[bytes | None]:
    return [record.value for record in records(log)]
