"""Streams beside Kafka Streams (Java): word count and hopping statistics, exactly once, on one broker.

The same input, topology, guarantee and broker for both; with one core and with two (`local[1]` and
`local[2]`, `num.stream.threads` 1 and 2). Measured is the time from the start of the application until
everything is processed and committed; the JVM runs by then, and so do Spark's Python workers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

import penstock.spark
from benchmarks.bench import Bench
from benchmarks.results import Metric, Row, Sample, Table
from benchmarks.streams_jobs import (
    EXPRESSIONS,
    FUNCTIONS,
    HOPPING,
    WORD_COUNT,
    Job,
    compiled,
    run_ours,
    seconds_of_java,
)
from benchmarks.systems import System, running
from benchmarks.topics import topic
from tests.peers.apache_kafka import Unavailable

PARTITIONS: Final = 4
TOTAL: Final = 10_000_000
QUICK_TOTAL: Final = 200_000
WARM_TOTAL: Final = 20_000
FOREVER: Final = {"retention.ms": "-1"}  # trades are of a day that is long past
METRICS: Final = (Metric("k records/s", 1),)
JOBS: Final = (("word count, words", WORD_COUNT), ("hopping statistics, trades", HOPPING))
STATELESS: Final = (("Python functions", FUNCTIONS), ("column expressions", EXPRESSIONS))


class Engine(NamedTuple):
    name: str
    java: bool


ENGINES: Final = (Engine("Penstock Streams on Spark", False), Engine("Kafka Streams (Java)", True))


def run(bench: Bench) -> Iterator[Table]:
    table = Table("Streams: exactly once, topics of four partitions", METRICS)
    ways = Table("Streams: filter and map_values over trades, in Python and in the JVM", METRICS)
    try:
        class_path = compiled(bench.work)
    except Unavailable as reason:
        class_path, engines = "", ENGINES[:1]
        table.notes.append(f"Kafka Streams was not measured: {reason}.")
    else:
        engines = ENGINES
    with running(bench.work, with_kafka=False) as (system,):
        for cores in (1, 2):
            spark = _session(cores)
            try:
                for label, job in JOBS:
                    row = _measured(bench, system, spark, class_path, cores, engines, label, job)
                    table.rows.append(row)
                for label, job in STATELESS:
                    ways.rows.append(_measured(bench, system, spark, "", cores, ENGINES[:1], label, job))
            finally:
                spark.stop()
    yield table
    yield ways


def _measured(
    bench: Bench,
    system: System,
    spark: SparkSession,
    class_path: str,
    cores: int,
    engines: tuple[Engine, ...],
    label: str,
    job: Job,
) -> Row:
    total = QUICK_TOTAL if bench.effort.quick else TOTAL
    with topic(system, PARTITIONS, FOREVER) as warm, topic(system, PARTITIONS, FOREVER) as source:
        _fill(spark, system, job, warm, WARM_TOTAL)
        _fill(spark, system, job, source, total)
        with topic(system, PARTITIONS, FOREVER) as target:  # for Spark to start its workers
            run_ours(spark, system, job, warm, target)
        measure = partial(_sample, spark, system, class_path, cores, job, source, total)
        name = f"{label}, {cores} {'core' if cores == 1 else 'cores'}"
        return bench.alternate(name, engines, measure, rounds=1)


def _sample(
    spark: SparkSession,
    system: System,
    class_path: str,
    cores: int,
    job: Job,
    source: str,
    total: int,
    engine: Engine,
) -> Sample:
    with topic(system, PARTITIONS, FOREVER) as target:
        if engine.java:
            seconds = seconds_of_java(class_path, system, job, source, target, total, cores)
        else:
            began = time.monotonic()
            run_ours(spark, system, job, source, target)
            seconds = time.monotonic() - began
    return {"k records/s": total / seconds / 1e3}


def _fill(spark: SparkSession, system: System, job: Job, name: str, total: int) -> None:
    writer = job.input(spark, total).write.format("penstock").mode("append")
    writer.option("kafka.bootstrap.servers", system.address).option("topic", name).save()


def _session(cores: int) -> SparkSession:
    conf = {"spark.log.level": "ERROR", "spark.driver.memory": "2g"}
    return penstock.spark.session("benchmarks", master=f"local[{cores}]", **conf)
