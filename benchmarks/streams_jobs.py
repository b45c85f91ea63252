"""The jobs of the section `streams`: their input, and one topology for us and for Kafka Streams (Java)."""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.systems import System
from penstock.streams import (
    Application,
    ColumnExpression,
    LongSerde,
    Materialized,
    StreamsBuilder,
    StringSerde,
    TimeWindows,
    Topology,
)
from tests.peers.apache_kafka import streams_jars

JAVA: Final = Path(__file__).parent / "java" / "StreamsJobs.java"
TIMEOUT_SECONDS: Final = 1800
WORDS_A_LINE: Final = 10
_STATISTICS: Final = struct.Struct(">dqd")
_numbers = count()


class Job(NamedTuple):
    name: str  # as StreamsJobs.java knows it
    input: Callable[[SparkSession, int], DataFrame]
    topology: Callable[[str, str], Topology]


def lines(spark: SparkSession, words: int) -> DataFrame:
    """Ten words a line, of ten thousand that there are."""
    word = "transform(sequence(0, 9), i -> concat('word', abs(hash(id, i)) % 10000))"
    return spark.range(words // WORDS_A_LINE).select(f.expr(f"concat_ws(' ', {word})").alias("value"))


def trades(spark: SparkSession, total: int) -> DataFrame:
    """A thousand symbols, ten trades a millisecond, in the order of time."""
    return spark.range(0, total, 1, numPartitions=1).select(
        f.expr("concat('SYM', abs(hash(id)) % 1000)").alias("key"),
        f.expr("cast(round(100 + (id % 977) / 100, 2) as string)").alias("value"),
        f.expr("timestamp_millis(1767623400000 + id div 10)").alias("timestamp"),
    )


def word_count(source: str, target: str) -> Topology:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    words = builder.stream(source).flat_map_values(lambda line: line.lower().split(" "))
    counts = words.group_by(lambda _, word: word).count(materialized="counts")
    counts.to_stream().to(target, value_serde=LongSerde())
    return builder.build()


class StatisticsSerde:
    """Minimum, number and sum in 24 bytes, as StreamsJobs.java has them."""

    def serialize(self, topic: str, value: tuple[float, int, float]) -> bytes:
        return _STATISTICS.pack(*value)

    def deserialize(self, topic: str, data: bytes) -> tuple[float, int, float]:
        minimum, number, total = _STATISTICS.unpack(data)
        return minimum, number, total


def add_trade(symbol: str, text: str, so_far: tuple[float, int, float]) -> tuple[float, int, float]:
    price, (minimum, number, total) = float(text), so_far
    return min(price, minimum), number + 1, total + price


def nothing_yet() -> tuple[float, int, float]:
    return float("inf"), 0, 0.0


def hopping(source: str, target: str) -> Topology:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    windows = TimeWindows(5_000, advance=1_000, grace=10_000)
    store = Materialized("statistics", value_serde=StatisticsSerde())
    table = (
        builder.stream(source)
        .group_by_key()
        .windowed_by(windows)
        .aggregate(nothing_yet, add_trade, materialized=store)
    )
    table.to_stream().to(target)
    return builder.build()


def _stateless(source: str, target: str, keep: Any, change: Any) -> Topology:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    builder.stream(source).filter(keep).map_values(change).to(target)
    return builder.build()


def functions(source: str, target: str) -> Topology:
    return _stateless(source, target, lambda symbol, price: price > "102", lambda price: f"{price} USD")


def expressions(source: str, target: str) -> Topology:
    """The same, computed by the JVM."""
    keep, change = ColumnExpression("value > '102'"), ColumnExpression("concat(value, ' USD')")
    return _stateless(source, target, keep, change)


FUNCTIONS: Final = Job("functions", trades, functions)
EXPRESSIONS: Final = Job("expressions", trades, expressions)
WORD_COUNT: Final = Job("words", lines, word_count)
HOPPING: Final = Job("trades", trades, hopping)


def run_ours(spark: SparkSession, system: System, job: Job, source: str, target: str) -> None:
    """From the start of the application until everything that is there is processed and committed."""
    with tempfile.TemporaryDirectory() as state:
        name = f"bench-streams-{next(_numbers)}"
        application = Application(job.topology(source, target), name, system.address, state_dir=state)
        application.start(spark, {"availableNow": True})
        ended = application.wait(TIMEOUT_SECONDS)
        application.close()
        if application.error is not None or not ended:
            raise RuntimeError(f"{job.name} did not end well: {application.error}")


def compiled(work: Path) -> str:
    """The class path of `StreamsJobs`; `Unavailable` without Java or the jars."""
    libs = streams_jars()
    subprocess.run(
        ["javac", "-nowarn", "-cp", f"{libs}/*", "-d", str(work), str(JAVA)],
        check=True,
        timeout=TIMEOUT_SECONDS,
    )
    return f"{libs}/*:{work}"


def seconds_of_java(
    class_path: str, system: System, job: Job, source: str, target: str, total: int, threads: int
) -> float:
    with tempfile.TemporaryDirectory() as state:
        name = f"bench-java-streams-{next(_numbers)}"
        arguments = [job.name, system.address, source, target, str(total), str(threads), name, state]
        command = ["java", "-Xmx1g", "-cp", class_path, "StreamsJobs", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    found = re.search(r"^seconds ([\d.]+)$", done.stdout, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"Kafka Streams failed: {done.stdout[-500:]}{done.stderr[-1500:]}")
    return float(found[1])
