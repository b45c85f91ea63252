"""Ranges of offsets as a source: what the plain source would read (`penstock.spark.source`), planned in the
same way and not read.

A partition is planned only where its target partition exists: a flow creates topics and partitions before
anything is copied to them. Which topics are taken, and their names on the target, says a `Choice` that
travels in the option `choice`.
"""

from __future__ import annotations

import base64
import pickle
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import pyarrow as pa
from pyspark.sql.datasource import DataSource, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from penstock.protocol.topic_partition import TopicPartition
from penstock.security.client_settings import ClientSettings
from penstock.spark.clusters import cluster_for
from penstock.spark.discovery import Found
from penstock.spark.limits import OffsetRange
from penstock.spark.mirroring.idling import LOOKS, Patience, pause_after
from penstock.spark.mirroring.pacing import Pace
from penstock.spark.options import ReadOptions, read_options
from penstock.spark.source import OffsetJson, PenstockStreamReader, from_json, to_json
from penstock.wire.deadline import Deadline
from penstock.wire.errors import WireError

CHOICE: Final = "choice"
NUMBER: Final = "number"
QUICK_SECONDS: Final = 1.0
MOST_TOLD: Final = 1000
SCHEMA: Final = StructType(
    [
        StructField(NUMBER, IntegerType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("target", StringType()),
        StructField("start", LongType()),
        StructField("end", LongType()),
    ]
)
_ARROW: Final = pa.schema(
    [
        (NUMBER, pa.int32()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("target", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
    ]
)


class Topics(Protocol):
    """Which topics a flow takes; `penstock.mirror.filters.Selection` is one."""

    def takes_topic(self, topic: str) -> bool: ...

    def target_topic(self, topic: str) -> str: ...

    def may_wait(self, topic: str) -> bool:
        """Whether records of a topic are in no hurry."""


@dataclass(frozen=True)
class Choice:
    """What is read and where it goes. It is pickled into an option of the source."""

    topics: Topics
    source: ClientSettings
    target: ClientSettings
    progress: tuple[tuple[TopicPartition, int], ...]
    """The offsets at which partitions begin that were copied before."""
    from_end: bool
    """Whether the others begin at their end when the query starts; those that appear later never do."""

    def to_option(self) -> str:
        return base64.b64encode(pickle.dumps(self)).decode()

    @classmethod
    def from_option(cls, text: str) -> Choice:
        choice = pickle.loads(base64.b64decode(text))
        assert isinstance(choice, cls)
        return choice


class MirrorDataSource(DataSource):
    """Ranges to copy; for `spark.readStream` only."""

    @classmethod
    def name(cls) -> str:
        return "penstock-mirror"

    def schema(self) -> StructType:
        return SCHEMA

    def streamReader(self, schema: StructType) -> MirrorReader:  # noqa: N802
        own = {name: value for name, value in self.options.items() if name.lower() != CHOICE}
        choice = next(value for name, value in self.options.items() if name.lower() == CHOICE)
        return MirrorReader(read_options(own, streaming=True), Choice.from_option(choice))


@dataclass
class Ranges(InputPartition):
    """All ranges of a batch: a row each, so one task hands out all of them."""

    ranges: tuple[OffsetRange, ...]


class MirrorReader(PenstockStreamReader):
    def __init__(self, options: ReadOptions, choice: Choice) -> None:
        from dataclasses import replace

        super().__init__(SCHEMA, replace(options, client=choice.source))
        self._choice = choice
        self._patience = Patience(choice.topics.may_wait, time.monotonic)
        self._pace = Pace(time.monotonic)
        self._look_seconds = 0.0
        self._there: list[TopicPartition] = []
        """The partitions of the last whole look."""
        self._told: set[str] = set()

    def latestOffset(self, start: OffsetJson, limit: ReadLimit) -> OffsetJson:  # noqa: N802
        """Where the next batch ends. Nothing new is answered with `start`, about a second later."""
        assert isinstance(limit, ReadMaxRows), limit
        end = self._due(start, ReadMaxRows(self._pace.limit(limit.max_rows)))
        begin = from_json(start)
        self._pace.planned(sum(max(0, at - begin.get(place, at)) for place, at in from_json(end).items()))
        return end

    def _due(self, start: OffsetJson, limit: ReadMaxRows) -> OffsetJson:
        end = super().latestOffset(start, limit)
        if self._patience.is_due(start, end):
            return end
        for _ in range(LOOKS):
            seen = self._later(start)
            if seen is None or self._patience.is_due(start, seen):
                return super().latestOffset(start, limit)
        return start

    def _later(self, start: OffsetJson) -> OffsetJson | None:
        """The ends of the known partitions after a pause; None when a closer look is needed: a topic may be
        gone, or a broker."""
        time.sleep(pause_after(self._look_seconds))
        began = time.monotonic()
        try:
            known = Found(self._there, [], {})
            return to_json(from_json(start) | self._ends(known, Deadline(QUICK_SECONDS)))
        except WireError:
            return None
        finally:
            self._look_seconds = time.monotonic() - began

    def reportLatestOffset(self) -> OffsetJson | None:  # noqa: N802
        """Not asked for: a flow knows its lag by itself (`penstock.mirror.counting`)."""
        return None

    def initialOffset(self) -> OffsetJson:  # noqa: N802
        """Where each partition goes on. What was copied before and is gone from the source is left out."""
        found = self._look()
        self._topic_ids.changed(found.topic_ids)
        known = dict(self._choice.progress)
        begin = {place: known[place] for place in found.partitions if place in known}
        others = [place for place in found.partitions if place not in known]
        if self._choice.from_end and others:
            begin |= self._ends(Found(others, [], {}))
        else:
            begin |= self._first_offsets(others)
        return to_json(begin)

    def partitions(self, start: OffsetJson, end: OffsetJson) -> Sequence[InputPartition]:
        ranges = [each for each in super().partitions(start, end) if isinstance(each, OffsetRange)]
        # The largest first: tasks take every n-th, so each gets about as much as the others.
        return [Ranges(tuple(sorted(ranges, key=lambda each: -each.size)))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Ranges), partition
        rows = [
            (
                number,
                each.topic,
                each.partition,
                self._choice.topics.target_topic(each.topic),
                each.start,
                each.end,
            )
            for number, each in enumerate(partition.ranges)
        ]
        if rows:
            columns = zip(*rows, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, _ARROW, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=_ARROW)

    def _lost(self, what: str) -> None:
        """Said once: a partition that is gone is gone at every look."""
        if what not in self._told:
            self._told = {*self._told, what} if len(self._told) < MOST_TOLD else {what}
            super()._lost(what)

    def _look(self, deadline: Deadline | None = None) -> Found:
        """What there is on both sides."""
        limit = deadline or self._deadline()
        found = super()._look(limit)
        names = {place.topic for place in found.partitions}
        wanted = {
            name: self._choice.topics.target_topic(name)
            for name in names
            if self._choice.topics.takes_topic(name)
        }
        there = cluster_for(self._choice.target).topics(set(wanted.values()), limit) if wanted else {}
        partitions = [
            place
            for place in found.partitions
            if place.topic in wanted
            and (target := there.get(wanted[place.topic])) is not None
            and place.partition in target.partitions
        ]
        self._there = partitions
        kept = {place.topic for place in partitions}
        return Found(partitions, [], {name: each for name, each in found.topic_ids.items() if name in kept})
