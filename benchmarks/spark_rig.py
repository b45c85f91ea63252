"""A Spark session that knows both connectors, ours and Spark's own, and a topic on our broker to read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import penstock.spark
from benchmarks.processes import family_cpu_seconds
from benchmarks.results import Sample
from tests.peers.spark_kafka import connector_jars


class Connector(NamedTuple):
    """A source or a sink that is measured beside another on the same broker."""

    name: str
    format: str


OURS = Connector("Penstock", "penstock")
THEIRS = Connector("Kafka connector of Spark (JVM)", "kafka")
CONNECTORS = (OURS, THEIRS)


@contextmanager
def session() -> Iterator[SparkSession]:
    """`Unavailable` when Spark's own connector cannot be had."""
    conf = {"spark.jars": connector_jars(), "spark.log.level": "ERROR", "spark.driver.memory": "2g"}
    spark = penstock.spark.session("benchmarks", master=f"local[{os.cpu_count()}]", **conf)
    try:
        yield spark
    finally:
        spark.stop()


def fill(spark: SparkSession, servers: str, topic: str, rows: int, record_bytes: int) -> None:
    """Records with one of a thousand keys and a value of the size."""
    key = (f.col("id") % 1000).cast("string").alias("key")
    value = f.rpad(f.col("id").cast("string"), record_bytes, "penstock").alias("value")
    writer = spark.range(rows).select(key, value).write.format("penstock").mode("append")
    writer.option("kafka.bootstrap.servers", servers).option("topic", topic).save()


def timed(job: Callable[[], object], rows: int, broker: int) -> Sample:
    """Rate and CPU time of one run; the broker, a child of this process, is left out of the CPU time."""
    used, began = family_cpu_seconds(os.getpid(), broker), time.monotonic()
    job()
    seconds = time.monotonic() - began
    spent = family_cpu_seconds(os.getpid(), broker) - used
    return {"k rows/s": rows / seconds / 1e3, "CPU s/M rows": spent / (rows / 1e6)}
