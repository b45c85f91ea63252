"""The timestamps of records between two places of a log, as brokers know them: for `time_order.TimeOrder`.

A broker reports the first offset at or after a time (ListOffsets), looking from the beginning of the log.
When a record that was read before is later than that time, the broker's answer lies before the batch and
says nothing about it. Then the batch's own records are fetched and their timestamps read, as far as the
question needs and never further than the limit of the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from penstock.protocol.topic_partition import TopicPartition
from penstock.records.batch import HEADER_SIZE, CorruptBatch
from penstock.records.codecs import CodecError, decompress
from penstock.records.record import MAX_DECODED_BYTES
from penstock.records.walk import ColumnBuilder
from penstock.spark.limits import Offsets
from penstock.wire import offsets
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.errors import OffsetOutOfRange
from penstock.wire.fetch import FetchOptions, fetch

FETCH_BYTES: Final = 256 * 1024
"""Of one answer: most questions end within the first batches."""

Longs = npt.NDArray[np.int64]


class LogTimes:
    """`RecordTimes` of the records from `start` to `end` of each partition."""

    def __init__(
        self,
        cluster: Cluster,
        start: Mapping[TopicPartition, int],
        end: Offsets,
        limit: int,
        patience_seconds: float,
    ) -> None:
        self._cluster, self._start, self._end, self._limit = cluster, start, end, limit
        self._patience_seconds = patience_seconds
        self._waiting = [place for place, offset in end.items() if offset > start[place]]
        self._walks: dict[TopicPartition, _Walk] = {}

    def ends_at(self, time_ms: int) -> Offsets:
        deadline = Deadline(self._patience_seconds)
        wanted = dict.fromkeys(self._waiting, time_ms + 1)
        found = offsets.at(self._cluster, wanted, deadline, read_committed=True) if wanted else {}
        ends = dict(self._end)
        for place, offset in found.items():
            if offset is None or offset >= self._end[place]:
                continue
            if offset < self._start[place]:
                ends[place] = self._walk(place).first_after(time_ms)
            else:
                ends[place] = offset
        return ends

    def _walk(self, place: TopicPartition) -> _Walk:
        if place not in self._walks:
            start = self._start[place]
            end = min(self._end[place], start + self._limit)
            options = FetchOptions(
                max_bytes=FETCH_BYTES, read_committed=True, idle_seconds=self._patience_seconds
            )
            self._walks[place] = _Walk(_records(self._cluster, place, start, end, options), start, end)
        return self._walks[place]


class _Walk:
    """Reads the timestamps of a partition step by step and remembers where each new latest time begins."""

    def __init__(self, records: Iterator[tuple[Longs, Longs]], start: int, end: int) -> None:
        self._records, self._end = records, end
        self._offsets: list[int] = [start]
        self._latest: list[int] = [-1]
        self._done = False

    def first_after(self, time_ms: int) -> int:
        while not self._done and self._latest[-1] <= time_ms:
            self._read_on()
        at = int(np.searchsorted(self._latest, time_ms, side="right"))
        return self._offsets[at] if at < len(self._offsets) else self._end

    def _read_on(self) -> None:
        read = next(self._records, None)
        if read is None:
            self._done = True
            return
        found, times = read
        latest = np.maximum.accumulate(np.maximum(times, self._latest[-1]))
        higher = np.flatnonzero(np.diff(latest, prepend=self._latest[-1]) > 0)
        self._offsets += found[higher].tolist()
        self._latest += latest[higher].tolist()


def _records(
    cluster: Cluster, place: TopicPartition, start: int, end: int, options: FetchOptions
) -> Iterator[tuple[Longs, Longs]]:
    """Offsets and timestamps, batch by batch. What cannot be read here ends the walk: the tasks that read the
    range report it."""
    try:
        for batch in fetch(cluster, place, start, end, options):
            header = batch.header
            builder = ColumnBuilder(keys=False, values=False, headers=False)
            append_ms = header.max_timestamp if header.is_log_append_time else None
            payload = decompress(header.codec, batch.data[HEADER_SIZE:], MAX_DECODED_BYTES)
            builder.add(
                payload,
                header.records_count,
                header.base_offset,
                header.base_timestamp,
                append_ms,
                start,
                end,
            )
            if builder.rows:
                columns = builder.take()
                yield (
                    np.frombuffer(columns.offsets, dtype=np.int64),
                    np.frombuffer(columns.timestamps_ms, dtype=np.int64),
                )
    except (OffsetOutOfRange, CorruptBatch, CodecError):
        return
