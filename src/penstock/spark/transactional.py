"""A frame written in one transaction, together with offsets: the exactly-once sink, which Streams uses too.

Each batch has one transaction. The driver owns it; the tasks share it under one producer epoch. The rules:

- A task that is run again must not write under the same epoch. Brokers recognise a repeated batch by epoch
  and sequence, not by content, and would drop other rows as a repetition. So the writing stage is a barrier
  stage and the last one of its job, where a failing task fails the job. The driver then aborts and runs the
  whole batch again under the next epoch.
- First fence, then read progress, then decide: otherwise another writer may commit in between.
- A commit whose answer is lost may have happened. Nothing is repeated; the next `fence` finds out.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.protocol.topic_partition import TopicPartition
from penstock.spark.clusters import cluster_for
from penstock.spark.executors import wait_for_slots
from penstock.spark.failures import is_hopeless
from penstock.spark.options import WriteOptions
from penstock.spark.progress import ASSUMED_RETENTION_MS, Batch, Decision, decide, last_committed
from penstock.spark.sharding import gathered, sharded, unpacked
from penstock.spark.sink import checked_columns
from penstock.wire import group_offsets
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.errors import Fenced
from penstock.wire.group_offsets import Committed
from penstock.wire.produce import Producer, ProducerOptions, partition_count
from penstock.wire.transactions import OffsetToCommit, Transaction, TransactionOwner

log = logging.getLogger(__name__)

# Longer than the longest batch; so long does a driver that died and is not started again hold readers back.
TRANSACTION_TIMEOUT_MS: Final = 600_000
ATTEMPTS: Final = 4  # as often as Spark tries a task
_RESULT: Final = "topic string, partition int, end bigint, records bigint"


class NoExecutor(RuntimeError):
    """Nothing is there to run the tasks."""


@dataclass(frozen=True)
class Written:
    """What became of a batch."""

    records: int
    skipped: bool = False
    """It had been committed before, by a run that died before Spark noted it."""


class TransactionalWriter:
    """For one thread, in the driver. It takes the transactional id over when it first writes (or `open`s),
    and raises `Fenced` when another writer does."""

    def __init__(
        self,
        options: WriteOptions,
        *,
        transactional_id: str,
        group_id: str,
        timeout_ms: int = TRANSACTION_TIMEOUT_MS,
        attempts: int = ATTEMPTS,
    ) -> None:
        self._options = options
        self._group_id = group_id
        self._attempts = attempts
        self._owner = TransactionOwner(self._cluster, transactional_id, timeout_ms=timeout_ms)
        self._committed: dict[TopicPartition, Committed] | None = None
        """What the group had committed when we fenced; None until then, and after an end that is unknown."""
        self._last: Batch | None = None

    def open(self) -> Mapping[TopicPartition, Committed]:
        """Fence, then read what the group has committed: where an application begins."""
        self._owner.fence(self._deadline())
        self._committed = group_offsets.committed(self._cluster, self._group_id, self._deadline())
        return self._committed

    def write(
        self,
        rows: DataFrame,
        batch: Batch,
        offsets: Mapping[TopicPartition, int] | None = None,
        shards: int | None = None,
    ) -> Written:
        """Write the rows and commit the progress; all of it once, whatever is repeated.

        `offsets` are the input's, committed for the group. Without them the ends of what was written are:
        a group must name partitions to remember anything, and so it shows no lag of its own. With `shards`
        the rows are parcels that were packed for so many (`sharding.packing`) by the tasks that made them.
        """
        if self._committed is None:
            self.open()
        if self._decide(batch) is Decision.SKIP:
            log.info("batch %d was committed before and is skipped", batch.batch_id)
            return Written(0, skipped=True)
        written = self._repeated(rows, batch, offsets, shards)
        self._last = batch
        return written

    def commit(self, batch: Batch, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit the progress alone, for rows that were written without a transaction. `Fenced` if somebody
        else has taken over."""
        if self._committed is None:
            self.open()
        self._owner.begin(self._deadline())
        self._commit_offsets(batch, offsets)
        self._end(nothing=not offsets)
        self._last = batch

    @property
    def _cluster(self) -> Cluster:
        return cluster_for(self._options.client)

    def _deadline(self) -> Deadline:
        return Deadline(self._options.delivery_seconds)

    def _decide(self, batch: Batch) -> Decision:
        assert self._committed is not None
        if self._last is not None:  # committed by this writer, and no other can have since
            return decide(batch, self._last, now_ms=batch.planned_ms, retention_ms=ASSUMED_RETENTION_MS)
        last = last_committed((found.metadata for found in self._committed.values()), batch.query_id)
        retention_ms = None
        if last is None:
            retention_ms = group_offsets.retention_ms(self._cluster, self._group_id, self._deadline())
        return decide(
            batch,
            last,
            now_ms=time.time_ns() // 1_000_000,
            retention_ms=ASSUMED_RETENTION_MS if retention_ms is None else retention_ms,
        )

    def _repeated(
        self, rows: DataFrame, batch: Batch, offsets: Mapping[TopicPartition, int] | None, shards: int | None
    ) -> Written:
        for attempt in range(1, self._attempts + 1):
            transaction = self._owner.begin(self._deadline())
            try:
                ends, records = write_in(transaction, rows, self._options, shards)
                progress = ends if offsets is None else offsets
                self._commit_offsets(batch, progress)
            except Fenced:
                raise
            except Exception as error:
                self._owner.abort(self._deadline())  # raises `Fenced` when it is not ours any more
                if attempt == self._attempts or is_hopeless(error):
                    raise
                log.warning("batch %d, attempt %d failed and is repeated: %s", batch.batch_id, attempt, error)
                continue
            self._end(nothing=not progress)
            return Written(records)
        raise AssertionError("the last attempt returns or raises")

    def _commit_offsets(self, batch: Batch, progress: Mapping[TopicPartition, int]) -> None:
        if progress:
            metadata = batch.to_metadata()
            marked = {place: OffsetToCommit(at, metadata) for place, at in progress.items()}
            self._owner.commit_offsets(self._group_id, marked, self._deadline())

    def _end(self, *, nothing: bool) -> None:
        if nothing:  # no row and no offset: there is no transaction, only its number
            self._owner.abort(self._deadline())
            return
        known, self._committed, self._last = self._committed, None, None
        self._owner.commit(self._deadline())
        self._committed = known


def write_in(
    transaction: Transaction, rows: DataFrame, options: WriteOptions, shards: int | None = None
) -> tuple[dict[TopicPartition, int], int]:
    """Write all rows in the transaction; where each partition ends then, and how many rows there were."""
    if shards is not None:
        parts = gathered(rows, shards)
    else:
        columns = checked_columns(rows.schema, options)
        parts = sharded(rows, columns, options, shard_count(rows.sparkSession, options))
    task = _writing(transaction, options)
    # Last stage of its job, so that a failing task fails the job: nothing may shuffle after it.
    results = parts.mapInArrow(task, _RESULT, barrier=True).collect()
    ends = {TopicPartition(result.topic, result.partition): result.end for result in results}
    return ends, sum(result.records for result in results)


def _writing(
    transaction: Transaction, options: WriteOptions
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cluster = cluster_for(options.client)
        producer = Producer(
            cluster,
            ProducerOptions(
                codec=options.codec, delivery_seconds=options.delivery_seconds, transaction=transaction
            ),
        )
        for batch in batches:
            for place, packed in unpacked(batch):
                producer.send(place, packed)
        producer.flush()
        yield _result(producer)

    return write


def _result(producer: Producer) -> pa.RecordBatch:
    """One row a partition; the count of all records stands in the first."""
    places = sorted(producer.ends)
    counts = [producer.acknowledged, *[0] * len(places)][: len(places)]
    return pa.RecordBatch.from_arrays(
        [
            pa.array([place.topic for place in places], pa.string()),
            pa.array([place.partition for place in places], pa.int32()),
            pa.array([producer.ends[place] for place in places], pa.int64()),
            pa.array(counts, pa.int64()),
        ],
        ["topic", "partition", "end", "records"],
    )


def shard_count(spark: SparkSession, options: WriteOptions) -> int:
    """As many tasks as can run at once, which a barrier stage needs; no more than there are partitions."""
    deadline = Deadline(options.delivery_seconds)
    slots = wait_for_slots(spark, deadline)
    if not slots:
        raise NoExecutor(
            f"no executor has a free core after {deadline.seconds:.0f} s: start a worker of the cluster, or "
            "give this application some of its cores"
        )
    if options.topic is None:
        return slots
    cluster = cluster_for(options.client)
    return min(slots, partition_count(cluster, options.topic, deadline))
