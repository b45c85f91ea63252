"""Spark's own Kafka connector, unchanged, against our broker; ours beside it; and how its jars are had."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from penstock.spark import jvm_connector
from penstock.spark.jvm_connector import ConnectorMissing
from tests.peers.apache_kafka import Unavailable
from tests.peers.spark_kafka import connector_jars


@pytest.fixture
def servers(penstock_servers: str) -> str:
    try:
        connector_jars()
    except Unavailable as reason:
        pytest.skip(str(reason))
    return penstock_servers


def read(spark: SparkSession, form: str, servers: str, topic: str) -> DataFrame:
    reader = spark.read.format(form).option("kafka.bootstrap.servers", servers)
    return reader.options(subscribe=topic, includeHeaders="true").load()


def test_it_writes_and_reads_our_broker_and_both_sources_see_the_same_rows(
    spark: SparkSession, servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=3)
    rows = spark.range(2000).select(
        (f.col("id") % 7).cast("string").alias("key"),
        f.col("id").cast("string").alias("value"),
        f.array(f.struct(f.lit("from").alias("key"), f.lit(b"jvm").alias("value"))).alias("headers"),
    )
    writer = rows.write.format("kafka").option("kafka.bootstrap.servers", servers)
    writer.option("kafka.compression.type", "zstd").option("topic", topic).save()
    theirs, ours = (read(spark, form, servers, topic) for form in ("kafka", "penstock"))
    assert [(c.name, c.dataType) for c in ours.schema] == [(c.name, c.dataType) for c in theirs.schema]
    assert theirs.count() == 2000
    assert ours.exceptAll(theirs).isEmpty()
    assert theirs.exceptAll(ours).isEmpty()


def test_its_stream_goes_from_topic_to_topic_of_our_broker(
    spark: SparkSession, servers: str, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    source, sink = new_topic(partitions=2), new_topic()
    rows = spark.range(300).select(f.col("id").cast("string").alias("value"))
    rows.write.format("penstock").mode("append").options(topic=source).option(
        "kafka.bootstrap.servers", servers
    ).save()
    stream = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    stream = stream.options(subscribe=source, startingOffsets="earliest", maxOffsetsPerTrigger="200").load()
    query = (
        stream.select("value")
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("topic", sink)
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    found = read(spark, "penstock", servers, sink).select(f.col("value").cast("string").alias("v"))
    assert sorted(int(row.v) for row in found.collect()) == list(range(300))


def test_jars_are_fetched_once_and_only_those_that_are_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    central, cache = tmp_path / "central", tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    jar = jvm_connector._Jar("org.example", "one", "1", hashlib.sha256(b"a jar").hexdigest())
    monkeypatch.setattr(jvm_connector, "_JARS", (jar,))
    with pytest.raises(ConnectorMissing, match=r"put one-1\.jar into a directory and give it"):
        jvm_connector.published(central.as_uri())
    stored = central / jar.path
    stored.parent.mkdir(parents=True)
    stored.write_bytes(b"another")
    with pytest.raises(ConnectorMissing, match="its SHA-256 differs"):
        jvm_connector.published(central.as_uri())
    stored.write_bytes(b"a jar")
    (kept,) = jvm_connector.published(central.as_uri())
    stored.unlink()
    assert jvm_connector.published(central.as_uri()) == [kept]
    assert kept.read_bytes() == b"a jar"
