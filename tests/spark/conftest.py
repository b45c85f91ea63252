"""One Spark session for the whole area, and brokers to read from and write to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from pyspark.sql import SparkSession

import penstock.spark
from tests.peers.apache_kafka import QUICK_JAVA, Unavailable
from tests.peers.brokers import apache_kafka, cluster, new_topic, penstock_servers, servers
from tests.peers.spark_kafka import connector_jars

__all__ = ["apache_kafka", "cluster", "new_topic", "penstock_servers", "servers"]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with_connector = False
    with suppress(Unavailable):  # the tests that want Spark's own connector skip then
        with_connector = bool(connector_jars())
    quick = {"spark.log.level": "ERROR", "spark.driver.extraJavaOptions": " ".join(QUICK_JAVA)}
    session = penstock.spark.session("tests", master="local[2]", jvm_connector=with_connector, **quick)
    yield session
    session.stop()
