"""Spark's own Kafka connector (JVM) as a peer: the jars that `session(jvm_connector=True)` uses."""

from __future__ import annotations

from functools import cache

from penstock.spark.jvm_connector import ConnectorMissing, published
from tests.peers.apache_kafka import Unavailable


@cache
def connector_jars() -> str:
    """What `spark.jars` is to be, for a session that knows `format("kafka")`."""
    try:
        return ",".join(map(str, published()))
    except ConnectorMissing as reason:
        raise Unavailable(str(reason)) from None
