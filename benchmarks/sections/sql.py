"""SQL beside Kafka Streams (Java): the same pipelines, exactly once, on one broker; and how soon it answers.

The same input and guarantee for both, with one core and with two (`local[1]` and `local[2]`,
`num.stream.threads` 1 and 2). Measured is the time from the start of the query until everything is processed
and committed; both JVMs run by then, and so do Spark's Python workers. The processor time of Kafka Streams
includes the start of its JVM. Avro is measured for us alone: Confluent's serializers for Java are not on
Maven Central.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

import penstock.spark
from benchmarks.bench import Bench
from benchmarks.results import Metric, Row, Sample, Table
from benchmarks.sections import sql_answers
from benchmarks.sql_jobs import JOBS, PARTITIONS, Job, Topics, compiled, fill, run_java, run_ours
from benchmarks.systems import System, running
from benchmarks.topics import topic
from tests.peers.apache_kafka import Unavailable
from tests.registry.processes import RegistryProcess

TOTAL: Final = 2_000_000
QUICK_TOTAL: Final = 100_000
WARM_TOTAL: Final = 10_000
FOREVER: Final = {"retention.ms": "-1"}  # trades are of a day that is long past
METRICS: Final = (Metric("k records/s", 1), Metric("CPU s per M records", 2))


class Engine(NamedTuple):
    name: str
    java: bool


ENGINES: Final = (Engine("Penstock SQL on Spark", False), Engine("Kafka Streams (Java)", True))


def run(bench: Bench) -> Iterator[Table]:
    tables = {
        "JSON": Table("SQL: pipelines over JSON, exactly once, topics of four partitions", METRICS),
        "AVRO": Table("SQL: the same over Avro", METRICS),
    }
    engines = {"JSON": ENGINES, "AVRO": ENGINES[:1]}
    try:
        class_path = compiled(bench.work)
    except Unavailable as reason:
        class_path, engines["JSON"] = "", ENGINES[:1]
        tables["JSON"].notes.append(f"Kafka Streams was not measured: {reason}.")
    with (
        running(bench.work, with_kafka=False) as (system,),
        RegistryProcess(system.address) as registry,
    ):
        for form, table in tables.items():
            table.rows += _rows(bench, system, registry.url, form, class_path, engines[form])
            yield table
        yield from sql_answers.run(bench, system)


def _rows(
    bench: Bench, system: System, registry: str, form: str, class_path: str, engines: tuple[Engine, ...]
) -> Iterator[Row]:
    total = QUICK_TOTAL if bench.effort.quick else TOTAL
    with (
        topic(system, PARTITIONS, FOREVER) as warm,
        topic(system, PARTITIONS, FOREVER) as source,
        topic(system, PARTITIONS, FOREVER) as warm_companies,
        topic(system, PARTITIONS, FOREVER) as companies,
    ):
        few, many = Topics(warm, warm_companies, form, WARM_TOTAL), Topics(source, companies, form, total)
        for each in (few, many):
            fill(system, each, registry)
        for cores in (1, 2):
            conf = {"spark.log.level": "ERROR", "spark.driver.memory": "2g"}
            spark = penstock.spark.session("benchmarks", master=f"local[{cores}]", **conf)
            try:
                for job in JOBS:
                    with topic(system, PARTITIONS, FOREVER) as target:  # for Spark to start its workers
                        run_ours(spark, system, job, few, target, registry)
                    measure = partial(_sample, spark, system, class_path, cores, job, many, registry)
                    name = f"{job.label}, {cores} {'core' if cores == 1 else 'cores'}"
                    yield bench.alternate(name, engines, measure, rounds=1)
            finally:
                spark.stop()


def _sample(
    spark: SparkSession,
    system: System,
    class_path: str,
    cores: int,
    job: Job,
    topics: Topics,
    registry: str,
    engine: Engine,
) -> Sample:
    with topic(system, PARTITIONS, FOREVER) as target:
        if engine.java:
            taken = run_java(class_path, system, job, topics, target, cores)
        else:
            taken = run_ours(spark, system, job, topics, target, registry)
    millions = topics.total / 1e6
    return {
        "k records/s": topics.total / taken.seconds / 1e3,
        "CPU s per M records": taken.cpu_seconds / millions,
    }
