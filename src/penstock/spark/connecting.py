"""What Connect runs on Spark: the tasks of a connector as one job, with what they report.

`run_tasks` runs a function for each task and collects what each returns. `write_tasks` runs a function whose
rows go to topics in one transaction; what it reports travels with the rows. The rules of the writing stage
are those of `penstock.spark.transactional`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.client.arrow.routing import Router
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.codecs import Codec
from penstock.security.client_settings import ClientSettings
from penstock.spark.arrow import full_schema
from penstock.spark.clusters import cluster_for
from penstock.spark.executors import wait_for_slots
from penstock.spark.limits import OffsetRange
from penstock.spark.options import SERVERS, WriteOptions, read_options
from penstock.spark.reading import read_range
from penstock.spark.sharding import PARCELS, gathered, packing, parcels_of_note, unpacked
from penstock.spark.sink import write_rows
from penstock.spark.transactional import NoExecutor
from penstock.wire.deadline import Deadline
from penstock.wire.produce import DELIVERY_SECONDS, Producer, ProducerOptions
from penstock.wire.transactions import Transaction

COLUMNS: Final = frozenset({"key", "value", "topic", "partition", "headers", "timestamp"})
ROWS: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        ("timestamp", pa.timestamp("us", tz="UTC")),
    ]
)
"""What a source task emits."""
_NOTE: Final = "note binary"

Rows = Callable[[int], Iterable[pa.RecordBatch | bytes]]
"""For the number of a task: batches of `ROWS` to be written, and notes for the driver."""
Report = Callable[[int], bytes]


def run_tasks(spark: SparkSession, tasks: int, work: Report) -> list[bytes]:
    """What each task returns. An exception of a task fails the job."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in _numbers(batches):
            yield _notes([work(number)])

    return [bytes(row.note) for row in _tasks(spark, tasks).mapInArrow(run, _NOTE).collect()]


def write_tasks(
    spark: SparkSession, tasks: int, work: Rows, options: WriteOptions, transaction: Transaction
) -> list[bytes]:
    """Write what the tasks emit in the transaction, which stays open; returns their notes.

    A single task is the one writer of every partition: it writes what it reads, without a shuffle.
    """
    slots = wait_for_slots(spark, Deadline(options.delivery_seconds))
    if not slots:
        raise NoExecutor("no executor has a free core: start a worker of the cluster")
    if tasks == 1:
        alone = _tasks(spark, 1).mapInArrow(_sending(work, transaction, options), _NOTE, barrier=True)
        return [bytes(row.note) for row in alone.collect()]
    shards = min(slots, tasks)
    parcels = _tasks(spark, tasks).mapInArrow(_packing(work, options, shards), PARCELS)
    written = gathered(parcels, shards).mapInArrow(_writing(transaction, options), _NOTE, barrier=True)
    return [bytes(row.note) for row in written.collect()]


def _tasks(spark: SparkSession, tasks: int) -> DataFrame:
    return spark.range(0, tasks, 1, tasks)


def _numbers(batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _packing(
    work: Rows, options: WriteOptions, shards: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    pack = packing(COLUMNS, options, shards)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        notes: list[bytes] = []

        def rows() -> Iterator[pa.RecordBatch]:
            for number in _numbers(batches):
                for each in work(number):
                    if isinstance(each, bytes):
                        notes.append(each)
                    else:
                        yield each

        yield from pack(rows())
        yield from map(parcels_of_note, notes)

    return run


def _sending(
    work: Rows, transaction: Transaction, options: WriteOptions
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        producer = _producer(transaction, options)
        router = Router(cluster_for(options.client), producer, options.topic, options.delivery_seconds)
        notes: list[bytes] = []
        for number in _numbers(batches):
            for each in work(number):
                if isinstance(each, bytes):
                    notes.append(each)
                else:
                    router.send(each, COLUMNS)
        router.flush()
        yield _notes(notes)

    return send


def _producer(transaction: Transaction, options: WriteOptions) -> Producer:
    chosen = ProducerOptions(
        codec=options.codec, delivery_seconds=options.delivery_seconds, transaction=transaction
    )
    return Producer(cluster_for(options.client), chosen)


def _writing(
    transaction: Transaction, options: WriteOptions
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        producer = _producer(transaction, options)
        notes: list[bytes] = []
        for batch in batches:
            is_row = batch.column("topic").is_valid()
            notes += batch.filter(batch.column("topic").is_null()).column("payload").to_pylist()
            for place, packed in unpacked(batch.filter(is_row)):
                producer.send(place, packed)
        producer.flush()
        yield _notes(notes)

    return write


def _notes(notes: list[bytes]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(notes, pa.binary())], ["note"])


def read_rows(
    client: ClientSettings, place: TopicPartition, start: int, end: int, *, read_committed: bool
) -> Iterator[pa.RecordBatch]:
    """The records of a partition from `start` to before `end`, with their headers."""
    options = read_options(
        {SERVERS: client.bootstrap_servers, "assign": json.dumps({place.topic: [place.partition]})},
        streaming=False,
    )
    options = replace(options, client=client, read_committed=read_committed, fail_on_data_loss=False)
    wanted = OffsetRange(place.topic, place.partition, start, end)
    return read_range(wanted, full_schema(include_headers=True), options)


def send_rows(client: ClientSettings, rows: pa.RecordBatch) -> None:
    """Write rows outside any transaction; all are acknowledged on return."""
    write_rows(iter([rows]), COLUMNS, WriteOptions(client, None, Codec.NONE, DELIVERY_SECONDS))
