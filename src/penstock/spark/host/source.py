"""The source of an application: topics read oldest records first, and a batch now and then without records.

A batch that cannot hold the whole backlog ends at one time in all topics (`time_order.py`), where the plain
source (`penstock.spark.source`) shares its limit out by backlog.

Punctuators of wall-clock time need batches when nothing arrives. With the option `tickMs` the source's
offsets name one more partition, whose offset is the number of intervals since 1970. No topic can have its
name.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from penstock.protocol.topic_partition import TopicPartition
from penstock.spark.arrow import full_schema
from penstock.spark.datasource import PenstockDataSource
from penstock.spark.host.record_times import LogTimes
from penstock.spark.host.time_order import TimeOrder
from penstock.spark.limits import Offsets
from penstock.spark.options import ReadOptions, read_options
from penstock.spark.source import OffsetJson, PenstockStreamReader

TICK: Final = "(tick)"
TICK_MS: Final = "tickMs"
SHORTEST_MS: Final = 100
"""A batch takes longer than this: ticking faster would only keep Spark busy."""


class ApplicationDataSource(PenstockDataSource):
    """Topics of an application. The option `tickMs` says how often there is a batch at least."""

    @classmethod
    def name(cls) -> str:
        return "penstock-application"

    def schema(self) -> StructType:
        return full_schema(include_headers=True)

    def streamReader(self, schema: StructType) -> ApplicationReader:  # noqa: N802
        own = {name: value for name, value in self.options.items() if name.lower() != TICK_MS.lower()}
        options = read_options(own, streaming=True)
        intervals = [int(value) for name, value in self.options.items() if name not in own]
        return (
            TickingReader(schema, options, intervals[0]) if intervals else ApplicationReader(schema, options)
        )


class ApplicationReader(PenstockStreamReader):
    """Reads the topics of an application in the order of time."""

    def __init__(self, schema: StructType, options: ReadOptions) -> None:
        super().__init__(schema, options)
        self._time_order = TimeOrder()

    def limited(self, start: Mapping[TopicPartition, int], end: Offsets, limit: int) -> Offsets:
        backlog = sum(max(0, offset - start[place]) for place, offset in end.items())
        if backlog <= limit:
            return end
        times = LogTimes(self._cluster(), start, end, limit, self._options.patience_seconds)
        return self._time_order.cut(start, end, limit, times)


class TickingReader(ApplicationReader):
    """An `ApplicationReader` that also makes a batch whenever an interval has passed."""

    def __init__(self, schema: StructType, options: ReadOptions, interval_ms: int) -> None:
        super().__init__(schema, options)
        self._interval_ms = max(interval_ms, SHORTEST_MS)
        self._last_tick: int | None = None

    def initialOffset(self) -> OffsetJson:  # noqa: N802
        return self._ticked(super().initialOffset())

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        super().prepareForTriggerAvailableNow()
        self._last_tick = self._now()

    def latestOffset(self, start: OffsetJson, limit: ReadLimit) -> OffsetJson:  # noqa: N802
        return self._ticked(super().latestOffset(without_tick(start), limit))

    def partitions(self, start: OffsetJson, end: OffsetJson) -> Sequence[InputPartition]:
        return super().partitions(without_tick(start), without_tick(end))

    def _ticked(self, offsets: OffsetJson) -> OffsetJson:
        tick = self._now() if self._last_tick is None else self._last_tick
        return {TICK: {"0": tick}, **offsets}

    def _now(self) -> int:
        return time.time_ns() // 1_000_000 // self._interval_ms


def without_tick(offsets: OffsetJson) -> OffsetJson:
    return {topic: partitions for topic, partitions in offsets.items() if topic != TICK}
