"""DescribeProducers: who writes to a partition. Codes and sentences are those of Apache Kafka 4.2."""

from __future__ import annotations

from typing import Any

from penstock.protocol.apis import Api
from tests.handlers.one_node import OneNode


def describe(node: OneNode, topic: str, *indexes: int) -> list[Any]:
    answer = node.ask(Api.DESCRIBE_PRODUCERS, 0, topics=[{"name": topic, "partition_indexes": indexes}])
    return list(answer.topics[0].partitions)


def test_a_producer_is_there_with_its_last_sequence() -> None:
    node = OneNode()
    node.create_topic("t")
    node.append("t", [b"a", b"b"], producer_id=7, producer_epoch=1, base_sequence=0)
    node.append("t", [b"c"], producer_id=7, producer_epoch=1, base_sequence=2)
    found, missing = describe(node, "t", 0, 1)
    (producer,) = found.active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (7, 1, 2)
    assert producer.last_timestamp == node.clock.now_ms()
    assert (producer.coordinator_epoch, producer.current_txn_start_offset) == (-1, -1)
    assert missing.error_code == 3


def test_a_topic_that_is_not_there_or_not_legal_is_refused() -> None:
    node = OneNode()
    assert describe(node, "none", 0)[0].error_code == 3
    (illegal,) = describe(node, "a/b", 0)
    assert illegal.error_code == 17
    assert illegal.error_message.startswith("Topic name is invalid: 'a/b' contains")
