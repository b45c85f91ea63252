"""Formats with Spark around them: columns settled by the planner, values decoded and encoded by workers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from penstock.spark import write_stream
from tests.peers.registry_stub import registry_stub

PERSON = '{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}}}'


# The others differ in what test_formats.py tries without Spark.
@pytest.mark.parametrize(
    "form", ["avro", *(pytest.param(form, marks=pytest.mark.long) for form in ("json", "protobuf"))]
)
@pytest.mark.parametrize("servers", ["penstock"], indirect=True)
def test_a_stream_of_json_becomes_a_topic_in_any_format_exactly_once(
    spark: SparkSession, servers: str, new_topic: Callable[..., str], tmp_path: Path, form: str
) -> None:
    source, sink = new_topic(), new_topic()
    producer = Producer({"bootstrap.servers": servers})
    for value in (b'{"name":"Ada","age":36}', b"broken", b'{"name":"Alan"}'):
        producer.produce(source, value)
    assert producer.flush(20) == 0
    people = spark.readStream.format("penstock").option("kafka.bootstrap.servers", servers)
    people = people.options(
        subscribe=source, startingOffsets="earliest", valueFormat="json", valueSchema=PERSON
    )
    rows = people.option("onDecodeError", "null").load().where("value is not null")
    older = f.struct("value.name", (f.col("value.age") + 1).alias("age"))
    with registry_stub() as registry:
        typed = {"valueFormat": form, "schema.registry.url": registry.url}
        query = write_stream(
            rows.select(older.alias("value")),
            topic=sink,
            bootstrap_servers=servers,
            checkpoint=str(tmp_path),
            trigger={"availableNow": True},
            options=typed,
        )
        assert query.awaitTermination(100)
        back = spark.read.format("penstock").option("kafka.bootstrap.servers", servers)
        back = back.option("kafka.isolation.level", "read_committed")
        found = back.options(subscribe=sink, **typed).load().select("value.*")
        assert found.schema.simpleString() == "struct<name:string,age:bigint>"
        assert [tuple(row) for row in found.collect()] == [("Ada", 37), ("Alan", None)]
