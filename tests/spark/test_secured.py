"""Pipelines against a broker that wants TLS and a password: source, sink, Streams with its changelogs,
interactive queries and reset; and Spark's own JVM connector with the same options."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from penstock.client.errors import ClientError
from penstock.client.targets import Target
from penstock.streams import Application, Materialized, StreamsBuilder, StringSerde
from penstock.streams.resetting import Applications
from tests.peers.apache_kafka import Unavailable
from tests.peers.spark_kafka import connector_jars
from tests.security.secured_broker import SECONDS, SecuredBroker

LISTENERS = [
    ("BOTH", "SCRAM-SHA-512"),
    ("MUTUAL", "-"),
]
MORE = [
    ("BOTH", "PLAIN"),
    ("BOTH", "SCRAM-SHA-256"),
    ("BOTH", "OAUTHBEARER"),
    ("SASL", "SCRAM-SHA-512"),
    ("TLS", "-"),
]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    found = SecuredBroker(tmp_path_factory.mktemp("tls"))
    with found.broker:
        found.prepare("words", "counts", "copied", "rows")
        yield found


def options(secured: SecuredBroker, listener: str, mechanism: str) -> dict[str, str]:
    properties = {**secured.properties(listener, mechanism), "bootstrap.servers": secured.address(listener)}
    return {f"kafka.{name}": value for name, value in properties.items()}


def test_source_and_sink_take_kafkas_settings(
    spark: SparkSession, secured: SecuredBroker, request: pytest.FixtureRequest
) -> None:
    for listener, mechanism in [*LISTENERS, *(MORE if request.config.getoption("--long") else [])]:
        given = options(secured, listener, mechanism)
        text = f"{listener} {mechanism}"
        rows = spark.createDataFrame([(text,)], ["value"])
        rows.write.format("penstock").mode("append").options(**given, topic="rows").save()
        read = spark.read.format("penstock").options(**given, subscribe="rows").load()
        assert text in [bytes(row.value).decode() for row in read.select("value").collect()]


def test_sparks_own_connector_comes_in_with_the_same_options(
    spark: SparkSession, secured: SecuredBroker, request: pytest.FixtureRequest
) -> None:
    try:
        connector_jars()
    except Unavailable as reason:
        pytest.skip(str(reason))
    for listener, mechanism in [*LISTENERS, *(MORE if request.config.getoption("--long") else [])]:
        given = options(secured, listener, mechanism)
        text = f"jvm {listener} {mechanism}"
        rows = spark.createDataFrame([(text,)], ["value"])
        rows.write.format("kafka").options(**given, topic="rows").save()
        read = spark.read.format("kafka").options(**given, subscribe="rows").load()
        assert text in [bytes(row.value).decode() for row in read.select("value").collect()]


def test_an_application_counts_is_queried_and_reset(
    spark: SparkSession, secured: SecuredBroker, tmp_path: Path
) -> None:
    producer = Producer({"bootstrap.servers": secured.address("PLAINTEXT")})
    for word in ("a", "b", "a"):
        producer.produce("words", word, key=word)
    assert producer.flush(SECONDS) == 0
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    counts = builder.stream("words").group_by_key().count(materialized=Materialized("counts-store"))
    counts.to_stream().to("counts")
    servers, settings = secured.address("BOTH"), secured.properties("BOTH")
    application = Application(builder.build(), "secured-app", servers, settings, tmp_path / "state")
    application.start(spark, {"availableNow": True})
    try:
        assert application.wait(120.0)
        assert application.error is None
        view = application.store("counts-store")
        assert (view.get("a"), view.get("b")) == (2, 1)
    finally:
        application.close()
    applications = Applications(servers, settings=settings)
    assert applications.describe("secured-app").lag == 0
    done = applications.reset("secured-app", Target())
    assert done.deleted_topics
    assert done.offsets == {("words", 0): 0}
    with pytest.raises(ClientError, match="refused"):
        Application(
            builder.build(), "secured-app", servers, secured.properties("BOTH", password="wrong"), tmp_path
        ).store("counts-store")
