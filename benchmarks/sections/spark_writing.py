"""Writing a topic with Spark: exactly once, at least once, and with Spark's own connector, on one broker.

Rows come from `spark.range`, so that only the sink is measured. Spark's connector has no exactly-once sink,
it is measured at least once. The latency is that of one row from topic to topic, committed where it is a
transaction.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any, Final

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.bench import Bench
from benchmarks.results import Metric, Sample, Table
from benchmarks.spark_rig import THEIRS, Connector, session, timed
from benchmarks.systems import System, running
from benchmarks.topics import topic
from penstock.spark import write_stream
from penstock.spark.options import write_options
from penstock.spark.progress import Batch
from penstock.spark.transactional import TransactionalWriter
from tests.peers.apache_kafka import Unavailable

PARTITIONS: Final = 4
TOTAL_BYTES: Final = 200_000_000
QUICK_BYTES: Final = 20_000_000
LATENCIES: Final = 100
QUICK_LATENCIES: Final = 10
WARM_ROWS: Final = 5
ROW_SECONDS: Final = 60.0
EXACTLY_ONCE: Final = Connector("Exactly once, Penstock", "exactly-once")
AT_LEAST_ONCE: Final = Connector("Penstock, at least once", "penstock")
SINKS: Final = (AT_LEAST_ONCE, THEIRS, EXACTLY_ONCE)
WRITTEN: Final = (Metric("k rows/s", 0), Metric("CPU s/M rows", 2))
ARRIVED: Final = (Metric("p50 ms", 0), Metric("p99 ms", 0))
_runs = count()


def run(bench: Bench) -> Iterator[Table]:
    table = Table("Spark: writing a topic of four partitions", WRITTEN)
    try:
        with session() as spark, running(bench.work, with_kafka=False) as (system,):
            for record_bytes in (100, 1000):
                write = partial(_write, bench, spark, system, record_bytes)
                for sink in SINKS:  # for the JVM to compile what it runs
                    write(sink)
                table.rows.append(bench.alternate(f"{record_bytes} B", SINKS, write))
    except Unavailable as reason:
        table.notes.append(f"Not measured: {reason}.")
    yield table


def latency(bench: Bench) -> Iterator[Table]:
    table = Table("Spark: one row from topic to topic", ARRIVED)
    try:
        with session() as spark, running(bench.work, with_kafka=False) as (system,):
            measure = partial(_latency, bench, spark, system)
            table.rows.append(bench.alternate("one row", SINKS, measure, rounds=1))
    except Unavailable as reason:
        table.notes.append(f"Not measured: {reason}.")
    yield table


def _write(bench: Bench, spark: SparkSession, system: System, record_bytes: int, sink: Connector) -> Sample:
    rows = (QUICK_BYTES if bench.effort.quick else TOTAL_BYTES) // record_bytes
    key = (f.col("id") % 1000).cast("string").alias("key")
    value = f.rpad(f.col("id").cast("string"), record_bytes, "penstock").alias("value")
    frame = spark.range(rows).select(key, value)
    with topic(system, PARTITIONS) as name:
        given = {"kafka.bootstrap.servers": system.address, "topic": name}
        if sink is not EXACTLY_ONCE:
            writer = frame.write.format(sink.format).options(**given).mode("append")
            return timed(writer.save, rows, system.pid)
        label = f"bench-{next(_runs)}"
        owner = TransactionalWriter(write_options(given), transactional_id=label, group_id=label)
        owner.open()  # as a query that runs
        batch = Batch(label, 0, time.time_ns() // 1_000_000)
        return timed(lambda: owner.write(frame, batch), rows, system.pid)


def _latency(bench: Bench, spark: SparkSession, system: System, sink: Connector) -> Sample:
    with topic(system, 1) as source, topic(system, 1) as target, tempfile.TemporaryDirectory() as checkpoint:
        query = _copy(spark, system, sink, source, target, checkpoint)
        try:
            times = _arrivals(system, source, target, QUICK_LATENCIES if bench.effort.quick else LATENCIES)
        finally:
            query.stop()
    return {"p50 ms": float(np.percentile(times, 50)), "p99 ms": float(np.percentile(times, 99))}


def _copy(
    spark: SparkSession, system: System, sink: Connector, source: str, target: str, checkpoint: str
) -> Any:
    form = "kafka" if sink is THEIRS else "penstock"
    reader = spark.readStream.format(form).option("kafka.bootstrap.servers", system.address)
    frame: DataFrame = reader.option("subscribe", source).option("startingOffsets", "earliest").load()
    frame = frame.select("key", "value")
    if sink is EXACTLY_ONCE:
        return write_stream(frame, topic=target, bootstrap_servers=system.address, checkpoint=checkpoint)
    writer = frame.writeStream.format(form).option("kafka.bootstrap.servers", system.address)
    return writer.option("topic", target).option("checkpointLocation", checkpoint).start()


def _arrivals(system: System, source: str, target: str, rows: int) -> list[float]:
    """Milliseconds from the acknowledgement of a row in `source` to its being read from `target`."""
    producer = Producer({"bootstrap.servers": system.address, "linger.ms": 0})
    consumer = Consumer(
        {
            "bootstrap.servers": system.address,
            "group.id": "bench",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 500,
        }
    )
    consumer.assign([TopicPartition(target, 0, 0)])
    times = []
    for _ in range(WARM_ROWS + rows):
        producer.produce(source, b"x")
        producer.flush(ROW_SECONDS)
        began = time.monotonic()
        while (message := consumer.poll(ROW_SECONDS)) is None or message.error():
            if time.monotonic() - began > ROW_SECONDS:
                raise TimeoutError(f"a row did not arrive in {ROW_SECONDS} s")
        times.append((time.monotonic() - began) * 1000)
    consumer.close()
    return times[WARM_ROWS:]
