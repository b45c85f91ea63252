"""One micro-batch: its frame of stages, written with changelogs and input offsets in one transaction."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from penstock.clock import SystemClock
from penstock.metrics.pipelines import PipelineCounts, Place
from penstock.protocol.topic_partition import TopicPartition
from penstock.spark.checkpoints import Checkpoint
from penstock.spark.clusters import cluster_for
from penstock.spark.failures import is_passing
from penstock.spark.host.commits import Commits
from penstock.spark.host.expressions import Computed
from penstock.spark.host.program import BatchAttempt, Program
from penstock.spark.host.rows import NEXT, RECORD, SCHEMA
from penstock.spark.host.source import without_tick
from penstock.spark.host.stages import Stage
from penstock.spark.host.work import Work, shipped, work
from penstock.spark.options import WriteOptions
from penstock.spark.progress import Batch
from penstock.spark.sharding import PARCELS, packing
from penstock.spark.source import from_json
from penstock.spark.transactional import shard_count
from penstock.wire import offsets
from penstock.wire.deadline import Deadline
from penstock.wire.errors import Fenced

log = logging.getLogger(__name__)

PATIENCE_SECONDS: Final = 60.0
ATTEMPTS: Final = 4  # as often as Spark tries a task
WRITTEN: Final = frozenset({"key", "value", "topic", "partition", "headers", "timestamp"})


class Sink(Protocol):
    """Where rows go: with a transaction, or without."""

    options: WriteOptions
    packed: bool
    """Whether it takes rows as parcels of the sink."""

    def write(
        self, rows: DataFrame, batch: Batch, ends: Mapping[TopicPartition, int], shards: int | None
    ) -> None: ...


class GrownTopic(RuntimeError):
    """A topic has more partitions than when the application started."""


class Batches:
    """What `foreachBatch` calls, in the driver's one thread."""

    def __init__(
        self,
        program: Program,
        commits: Commits,
        checkpoint: Checkpoint,
        positions: Mapping[TopicPartition, int],
        sink: Sink,
        computed: Sequence[Computed] = (),
        counts: PipelineCounts | None = None,
    ) -> None:
        self._program, self._commits, self._checkpoint, self._sink = program, commits, checkpoint, sink
        self._positions = dict(positions)
        self._computed = computed
        self._counts = PipelineCounts(program.application_id) if counts is None else counts
        self._shipped: Broadcast[bytes] | None = None

    def run(self, rows: DataFrame, batch_id: int) -> None:
        """Process, write and commit a batch."""
        began = SystemClock.monotonic()
        planned_ms = self._checkpoint.batch(batch_id).planned_ms
        ends = from_json(without_tick(self._checkpoint.offsets(batch_id)))
        self._check_partitions(ends)
        if self._shipped is None:
            rows.sparkSession.conf.set(
                "spark.sql.adaptive.enabled", "false"
            )  # every shard runs in every batch
            self._shipped = rows.sparkSession.sparkContext.broadcast(shipped(self._program))
        batch = Batch(self._program.application_id, self._commits.next_version, planned_ms)
        token = self._written(rows, batch, ends)
        self._commits.add(batch, token)
        self._counted(ends, SystemClock.monotonic() - began)
        self._positions.update(ends)

    def _counted(self, ends: Mapping[TopicPartition, int], seconds: float) -> None:
        read = {Place(*place): max(0, end - self._positions.get(place, end)) for place, end in ends.items()}
        self._counts.committed(read, seconds, SystemClock().now_ms() / 1000)

    def _written(self, rows: DataFrame, batch: Batch, ends: Mapping[TopicPartition, int]) -> str:
        for number in range(1, ATTEMPTS + 1):
            token = f"{uuid.uuid4().hex[:12]}"
            attempt = BatchAttempt(
                batch.batch_id,
                token,
                dict(self._commits.tokens),
                batch.planned_ms,
                dict(self._positions),
                self._global_ends(),
            )
            try:
                shards = shard_count(rows.sparkSession, self._sink.options) if self._sink.packed else None
                self._sink.write(self._frame(rows, attempt, ends, shards), batch, ends, shards)
                return token
            except Fenced:
                raise
            except Exception as error:
                if number == ATTEMPTS or not is_passing(error):
                    raise
                self._counts.repeated += 1
                log.warning("batch %d, attempt %d failed and is repeated: %s", batch.batch_id, number, error)
        raise AssertionError("the last attempt returns or raises")

    def _frame(
        self, rows: DataFrame, attempt: BatchAttempt, ends: Mapping[TopicPartition, int], shards: int | None
    ) -> DataFrame:
        """The stages one behind the other, with a shuffle before each; the first needs none if it has no
        state."""
        frame = rows.select(*RECORD)
        for number, stage in enumerate(self._program.stages):
            frame = self._with_expressions(frame, stage, ends)
            if number or stage.keeps_state:
                if not number:
                    frame = frame.withColumn(NEXT, self._first_shards(ends))
                frame = frame.repartitionById(stage.shards, NEXT)
            task = self._work(number, attempt)
            if number + 1 == len(self._program.stages) and shards is not None:
                pack = packing(WRITTEN, self._sink.options, shards)
                return frame.mapInArrow(_both(task, pack), PARCELS)
            frame = frame.mapInArrow(task, SCHEMA)
        return frame.select(*WRITTEN)

    def _with_expressions(self, frame: DataFrame, stage: Stage, ends: Iterable[TopicPartition]) -> DataFrame:
        """What the JVM computes before the tasks of a stage."""
        topics = {*self._program.internal, *(place.topic for place in ends)}
        here = {name for run in stage.runs for name in run.sources}
        for head in self._computed:
            if head.head.node.name in here:
                frame = head.on(frame, sorted(filter(self._program.reads(head.head.node.name), topics)))
        return frame

    def _work(self, stage: int, attempt: BatchAttempt) -> Work:
        assert self._shipped is not None
        return work(self._shipped, self._program.application_id, self._program.run_id, stage, attempt)

    def _first_shards(self, ends: Mapping[TopicPartition, int]) -> Column:
        """The Spark partition of a record as it was read: its own partition's shard where its run is."""
        stage = self._program.stages[0]
        chosen: Column = f.col("partition") % f.lit(stage.shards)  # for a later stage: passed on by any
        for topic in sorted({place.topic for place in (*self._positions, *ends)}):
            run = self._program.run_of(topic)
            if run in stage.runs:
                chosen = f.when(f.col("topic") == topic, f.col("partition") + run.first_shard).otherwise(
                    chosen
                )
        return chosen

    def _global_ends(self) -> dict[TopicPartition, int]:
        if not self._program.global_partitions:
            return {}
        cluster = cluster_for(self._program.client)
        places = [TopicPartition(*place) for place in self._program.global_partitions]
        return offsets.latest(cluster, places, Deadline(PATIENCE_SECONDS), read_committed=True)

    def _check_partitions(self, ends: Mapping[TopicPartition, int]) -> None:
        for place in ends.keys() - self._positions.keys():
            run = self._program.run_of(place.topic)
            if run is not None and place.partition >= run.shards:
                raise GrownTopic(
                    f"{place} is new, and the application was started with {run.shards} shards for it: "
                    "start it again"
                )


def _both(first: Work, second: Work) -> Work:
    """In one Python worker, where two functions of Spark's would take two."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return second(first(batches))

    return run
