"""Produce through the broker: what a request leaves behind."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

from penstock.protocol.apis import Api
from penstock.records.record import Record, encode_batch
from tests.handlers.one_node import OneNode


def produce(node: OneNode) -> Any:
    batch = bytes(encode_batch([Record(None, b"v", (), node.clock.now_ms())]))
    partition = {"index": 0, "records": batch}
    topic = {"name": "t", "topic_id": None, "partition_data": [partition]}
    return node.ask_raw(Api.PRODUCE, 12, transactional_id=None, acks=-1, timeout=1000, topic_data=[topic])


def fetch(node: OneNode) -> Any:
    wanted = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 10_000}
    limits = {"max_wait": 100, "min_bytes": 1_000_000, "max_bytes": 100_000, "replica_id": -1}
    topics = [{"topic": "t", "topic_id": None, "partitions": [wanted]}]
    return node.ask_raw(Api.FETCH, 12, **limits, topics=topics, forgotten_topics_data=[])


@pytest.mark.parametrize("ask", [produce, fetch])
def test_a_request_leaves_no_cycle_behind_for_the_collector(ask: Callable[[OneNode], Any]) -> None:
    node = OneNode()
    node.create_topic("t")
    ask(node)
    gc.collect()
    gc.disable()
    try:
        for _ in range(10):
            ask(node)
        assert gc.collect() == 0
    finally:
        gc.enable()
