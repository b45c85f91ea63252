"""The README's Spark example does what it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from tests.house.test_readme import PROMISED_ADDRESS, example


@pytest.mark.parametrize("servers", ["penstock"], indirect=True)
def test_a_topic_is_read_as_a_stream(
    spark: SparkSession, servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    producer = Producer({"bootstrap.servers": servers})
    producer.produce(topic, b"a trade")
    assert producer.flush(20) == 0
    program, waiting = example("readStream"), "query.awaitTermination()"
    assert PROMISED_ADDRESS in program
    assert waiting in program
    names: dict[str, Any] = {}
    program = program.replace(PROMISED_ADDRESS, servers).replace('"trades"', f'"{topic}"')
    exec(program.replace(waiting, "query.processAllAvailable()"), names)
    try:
        assert sum(progress["numInputRows"] for progress in names["query"].recentProgress) == 1
    finally:
        names["query"].stop()
