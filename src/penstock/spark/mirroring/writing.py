"""A batch of ranges copied in one transaction of the target, with the flow's progress in it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame

from penstock.protocol.topic_partition import TopicPartition
from penstock.records.codecs import Codec
from penstock.security.client_settings import ClientSettings
from penstock.spark.clusters import cluster_for
from penstock.spark.executors import wait_for_slots
from penstock.spark.failures import is_hopeless
from penstock.spark.mirroring.ranges import NUMBER
from penstock.spark.transactional import ATTEMPTS, NoExecutor
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.errors import Fenced
from penstock.wire.pack import Packed
from penstock.wire.produce import DELIVERY_SECONDS, Producer, ProducerOptions
from penstock.wire.relaying import Range, Relayed, RelayOptions, from_bytes, relay, to_bytes
from penstock.wire.transactions import Transaction, TransactionOwner

log = logging.getLogger(__name__)

IN_FLIGHT: Final = 5
SHARD: Final = "shard"
_RESULT: Final = (
    "topic string, partition int, next bigint, records bigint, bytes bigint, missed bigint, "
    "timestamp bigint, pieces binary"
)
_ARROW: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("next", pa.int64()),
        ("records", pa.int64()),
        ("bytes", pa.int64()),
        ("missed", pa.int64()),
        ("timestamp", pa.int64()),
        ("pieces", pa.binary()),
    ]
)


class Ledger(Protocol):
    """What the flow writes in the same transaction, and what it does afterwards."""

    def entries(self, done: Sequence[Relayed]) -> Sequence[tuple[TopicPartition, Packed]]:
        """Records of the target that say how far the flow is."""

    def committed(self, done: Sequence[Relayed]) -> None:
        """The batch is on the target, for good."""


class MirrorWriter:
    """For one thread, in the driver. It takes the transactional id over with `fence`, and raises `Fenced`
    when another writer does."""

    def __init__(
        self,
        source: ClientSettings,
        target: ClientSettings,
        *,
        transactional_id: str,
        timeout_ms: int,
        options: RelayOptions,
        shards: Callable[[int], int],
    ) -> None:
        self._source = source
        self._target = target
        self._options = options
        self._shards = shards
        """How many tasks to use of so many that can run at once."""
        self._owner = TransactionOwner(self._cluster, transactional_id, timeout_ms=timeout_ms)

    @property
    def _cluster(self) -> Cluster:
        return cluster_for(self._target)

    def fence(self) -> None:
        """From here on only this writer writes for the flow; what another has begun is over."""
        self._owner.fence(Deadline(DELIVERY_SECONDS))

    def write(self, rows: DataFrame, ledger: Ledger) -> list[Relayed]:
        """Copy all ranges, and note it, in one transaction; all of it once, whatever is repeated."""
        for attempt in range(1, ATTEMPTS + 1):
            transaction = self._owner.begin(Deadline(DELIVERY_SECONDS))
            try:
                done = self._copy(rows, transaction)
                entries = ledger.entries(done)
                self._note(entries, transaction)
            except Fenced:
                raise
            except Exception as error:
                self._owner.abort(Deadline(DELIVERY_SECONDS))
                if attempt == ATTEMPTS or is_hopeless(error):
                    raise
                log.warning("attempt %d at a batch failed and is repeated: %s", attempt, _short(error))
                continue
            if entries:
                self._owner.commit(Deadline(DELIVERY_SECONDS))
            else:  # nothing was written: there is no transaction, only its number
                self._owner.abort(Deadline(DELIVERY_SECONDS))
            ledger.committed(done)
            return done
        raise AssertionError("the last attempt returns or raises")

    def _copy(self, rows: DataFrame, transaction: Transaction) -> list[Relayed]:
        slots = wait_for_slots(rows.sparkSession, Deadline(DELIVERY_SECONDS))
        if not slots:
            raise NoExecutor("no executor has a free core: start a worker of the cluster")
        shards = max(1, min(slots, self._shards(slots)))
        numbered = rows.withColumn(SHARD, rows[NUMBER] % shards)
        parts = numbered.repartitionById(shards, SHARD)
        task = _copying(self._source, self._target, transaction, self._options)
        # The last stage of its job, so that a failing task fails the job (`penstock.spark.transactional`).
        found = parts.mapInArrow(task, _RESULT, barrier=True).collect()
        return [
            Relayed(
                TopicPartition(row.topic, row.partition),
                row.next,
                row.records,
                row.bytes,
                row.missed,
                row.timestamp,
                from_bytes(bytes(row.pieces)),
            )
            for row in found
        ]

    def _note(self, entries: Sequence[tuple[TopicPartition, Packed]], transaction: Transaction) -> None:
        producer = Producer(self._cluster, ProducerOptions(transaction=transaction))
        for place, packed in entries:
            producer.send(place, packed)
        producer.flush()


def _copying(
    source: ClientSettings, target: ClientSettings, transaction: Transaction, options: RelayOptions
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does: all its ranges, and what became of each."""

    def copy(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ranges = [_range(row) for batch in batches for row in batch.to_pylist()]
        producing = ProducerOptions(transaction=transaction, in_flight=IN_FLIGHT)
        done = relay(cluster_for(source), cluster_for(target), ranges, producing, options)
        rows = [(*each.source, *each[1:6], to_bytes(each.pieces)) for each in done]
        columns = zip(*rows, strict=True) if rows else [[] for _ in _ARROW]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, _ARROW, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=_ARROW)

    return copy


def _range(row: dict[str, object]) -> Range:
    topic, target, partition = str(row["topic"]), str(row["target"]), int(str(row["partition"]))
    places = TopicPartition(topic, partition), TopicPartition(target, partition)
    return Range(*places, int(str(row["start"])), int(str(row["end"])))


def _short(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__


CODECS: Final = {codec.name.lower(): codec for codec in Codec}
