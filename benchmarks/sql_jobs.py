"""The pipelines of the section `sql`: statements for us, the same in Kafka Streams (Java), their input."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

from confluent_kafka import Producer
from pyspark.sql import SparkSession

from benchmarks.processes import family_cpu_seconds
from benchmarks.systems import System
from penstock.kernels.serdes import to_bytes
from penstock.sql.engine import Engine
from penstock.sql.parsing import parse
from penstock.sql.serdes.table import row_serde
from penstock.sql.sources import DataSource
from penstock.sqlserver.registry import RegistryAt
from penstock.streams import Application, Topology
from tests.peers.apache_kafka import streams_jars

JAVA: Final = Path(__file__).parent / "java" / "SqlJobs.java"
TIMEOUT_S: Final = 1800
SYMBOLS: Final = 1000
PARTITIONS: Final = 4
FIRST_MS: Final = 1_767_623_400_000
_numbers = count()


class Job(NamedTuple):
    name: str  # as SqlJobs.java knows it
    label: str
    query: str


JOBS: Final = (
    Job("filter", "filter and project",
        "CREATE STREAM o WITH (KAFKA_TOPIC='{target}') AS SELECT symbol, price * amount AS total "
        "FROM trades WHERE price > 102;"),
    Job("count", "count by key",
        "CREATE TABLE o WITH (KAFKA_TOPIC='{target}') AS SELECT symbol, COUNT(*) AS n FROM trades "
        "GROUP BY symbol;"),
    Job("hopping", "hopping statistics",
        "CREATE TABLE o WITH (KAFKA_TOPIC='{target}') AS SELECT symbol, MIN(price) AS least, COUNT(*) AS n, "
        "SUM(price) AS total FROM trades WINDOW HOPPING (SIZE 5 SECONDS, ADVANCE BY 1 SECOND, "
        "GRACE PERIOD 10 SECONDS) GROUP BY symbol;"),
    Job("join", "stream-table join",
        "CREATE STREAM o WITH (KAFKA_TOPIC='{target}') AS SELECT t.symbol, t.price AS price, c.name AS name "
        "FROM trades t JOIN companies c ON t.symbol = c.symbol;"),
)  # fmt: skip
SOURCES: Final = """
CREATE STREAM trades (symbol STRING KEY, price DOUBLE, amount INT)
  WITH (KAFKA_TOPIC='{source}', VALUE_FORMAT='{form}');
CREATE TABLE companies (symbol STRING PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC='{table}', VALUE_FORMAT='{form}');
"""


class Topics(NamedTuple):
    """Where a pipeline reads: trades, and the companies of their symbols."""

    source: str
    table: str
    form: str
    total: int


def engine(topics: Topics, registry: str) -> Engine:
    schemas = RegistryAt(registry)
    made = Engine(
        lambda form, columns, is_key: row_serde(form, columns, is_key, schemas),
        partitions=lambda name: PARTITIONS,
    )
    given = {"source": topics.source, "table": topics.table, "form": topics.form}
    for statement in parse(SOURCES.format(**given)):
        made.execute(statement)
    return made


def fill(system: System, topics: Topics, registry: str) -> None:
    """A thousand symbols, ten trades a millisecond, in the order of time."""
    sources = engine(topics, registry).catalogue.sources
    producer = Producer({"bootstrap.servers": system.address, "linger.ms": 50, "batch.size": 1_000_000})
    for source, rows in (
        (sources["COMPANIES"], companies()),
        (sources["TRADES"], trades(topics.total)),
    ):
        encode = _encoder(source, topics.form, registry)
        for number, (symbol, row) in enumerate(rows):
            at = FIRST_MS + number // 10
            while True:
                try:
                    producer.produce(source.topic, encode(row), symbol, timestamp=at)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.flush()


def _encoder(source: DataSource, form: str, registry: str) -> Any:
    if form == "JSON":
        return lambda row: json.dumps(row)
    serde = row_serde(source.schema.value_format, source.stored, False, RegistryAt(registry))
    return lambda row: to_bytes(serde, source.topic, row)


def trades(total: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for number in range(total):
        price = round(100 + number % 977 / 100, 2)
        yield f"SYM{number * 2654435761 % SYMBOLS}", {"PRICE": price, "AMOUNT": number % 50}


def companies() -> Iterator[tuple[str, dict[str, Any]]]:
    for number in range(SYMBOLS):
        yield f"SYM{number}", {"NAME": f"Company {number}"}


class Taken(NamedTuple):
    seconds: float
    cpu_seconds: float


def run_ours(
    spark: SparkSession, system: System, job: Job, topics: Topics, target: str, registry: str
) -> Taken:
    """From the start of the query until everything that is there is processed and committed."""
    made = engine(topics, registry)
    (statement,) = parse(job.query.format(target=target))
    query = made.execute(statement).query
    assert query is not None
    with tempfile.TemporaryDirectory() as state:
        application = Application(
            Topology.of(query.plan),
            f"bench-sql-{next(_numbers)}",
            system.address,
            {"auto.offset.reset": "earliest", "processing.guarantee": "exactly_once_v2"},
            state,
        )
        began, used = time.monotonic(), family_cpu_seconds(os.getpid(), system.pid)
        application.start(spark, {"availableNow": True})
        ended = application.wait(TIMEOUT_S)
        application.close()
        taken = Taken(time.monotonic() - began, family_cpu_seconds(os.getpid(), system.pid) - used)
        if application.error is not None or not ended:
            raise RuntimeError(f"{job.label} did not end well: {application.error}")
        return taken


def compiled(work: Path) -> str:
    """The class path of `SqlJobs`; `Unavailable` without Java or the jars."""
    libs = streams_jars()
    command = ["javac", "-nowarn", "-cp", f"{libs}/*", "-d", str(work), str(JAVA)]
    subprocess.run(command, check=True, timeout=TIMEOUT_S)
    return f"{libs}/*:{work}"


def run_java(class_path: str, system: System, job: Job, topics: Topics, target: str, threads: int) -> Taken:
    with tempfile.TemporaryDirectory() as state:
        name = f"bench-java-sql-{next(_numbers)}"
        arguments = [job.name, system.address, topics.source, target, str(topics.total), str(threads)]
        command = ["java", "-Xmx1g", "-cp", class_path, "SqlJobs", *arguments, name, state, topics.table]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = re.search(r"^seconds ([\d.]+)$", done.stdout, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"Kafka Streams failed: {done.stdout[-500:]}{done.stderr[-1500:]}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Taken(float(found[1]), used)
