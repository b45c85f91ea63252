"""One Spark session for the whole area, and brokers to read from and write to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import penstock.spark
from tests.peers.brokers import apache_kafka, cluster, new_topic, penstock_servers, servers

__all__ = ["apache_kafka", "cluster", "new_topic", "penstock_servers", "servers"]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = penstock.spark.session("tests", master="local[2]", **{"spark.log.level": "ERROR"})
    yield session
    session.stop()
