"""How much one micro-batch reads, and into how many tasks it is cut: arithmetic on offsets, no I/O.

`limited` and `Minimum` are the rate limits of the stream (`penstock.spark.source`); `split` serves
`minPartitions` and `maxRecordsPerPartition`, of batch and stream alike.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pyspark.sql.datasource import InputPartition

from penstock.clock import Clock, SystemClock
from penstock.protocol.topic_partition import TopicPartition

Offsets = dict[TopicPartition, int]


@dataclass
class OffsetRange(InputPartition):
    """What one task reads: from `start` up to and without `end`."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


def limited(start: Mapping[TopicPartition, int], end: Offsets, limit: int) -> Offsets:
    """About `limit` offsets after `start`, shared out by how much each partition has; none starves."""
    sizes = {partition: max(0, end[partition] - start[partition]) for partition in end}
    total = sum(sizes.values())
    if total <= limit:
        return end
    shared = {}
    for partition, size in sizes.items():
        share = limit * size / total
        step = math.ceil(share) if share < 1 else math.floor(share)
        shared[partition] = min(end[partition], start[partition] + step) if size else end[partition]
    return shared


class Minimum:
    """`minOffsetsPerTrigger`: a batch waits for so much to read, or until `maxTriggerDelay` has passed."""

    def __init__(self, offsets: int, delay_seconds: float, clock: Clock | None = None) -> None:
        self._offsets = offsets
        self._delay_seconds = delay_seconds
        self._clock = clock or SystemClock()
        self._waiting_since = self._clock.monotonic()

    def reached(self, available: int) -> bool:
        """Whether a batch with so many offsets may begin now; if so the next wait starts here."""
        now = self._clock.monotonic()
        if available < self._offsets and now - self._waiting_since < self._delay_seconds:
            return False
        self._waiting_since = now
        return True


def split(
    ranges: Sequence[OffsetRange], min_partitions: int | None, max_records: int | None
) -> list[OffsetRange]:
    """The ranges without the empty ones, and the largest cut evenly until there are `min_partitions`, none of
    them over `max_records`. Parts of one partition follow each other in the list as they do in the log.
    """
    wanted = [range_ for range_ in ranges if range_.size > 0]
    sizes = [range_.size for range_ in wanted]
    counts = [1 if max_records is None else math.ceil(size / max_records) for size in sizes]
    missing = min(min_partitions or 0, sum(sizes)) - sum(counts)
    largest_part = [
        (-range_.size / count, index)
        for index, (range_, count) in enumerate(zip(wanted, counts, strict=True))
    ]
    heapq.heapify(largest_part)
    for _ in range(missing):
        _, index = largest_part[0]
        counts[index] += 1
        heapq.heapreplace(largest_part, (-sizes[index] / counts[index], index))
    return [part for range_, count in zip(wanted, counts, strict=True) for part in _cut(range_, count)]


def _cut(whole: OffsetRange, count: int) -> list[OffsetRange]:
    edges = [whole.start + whole.size * index // count for index in range(count + 1)]
    return [replace(whole, start=start, end=end) for start, end in pairwise(edges)]
