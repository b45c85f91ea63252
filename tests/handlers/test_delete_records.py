"""DeleteRecords: the beginning of a log moves up and stays there. Codes are those of Apache Kafka 4.2."""

from __future__ import annotations

import errno

import pytest

from penstock.protocol.apis import Api
from tests.handlers.one_node import OneNode


@pytest.fixture
def node() -> OneNode:
    node = OneNode()
    node.create_topic("t")
    for index in range(10):
        node.append("t", [b"%d" % index])
    return node


def delete(
    node: OneNode, *wanted: tuple[int, int], topic: str = "t", version: int = 2
) -> list[tuple[int, int, int]]:
    partitions = [{"partition_index": index, "offset": offset} for index, offset in wanted]
    answer = node.ask(
        Api.DELETE_RECORDS, version, topics=[{"name": topic, "partitions": partitions}], timeout=1000
    )
    return [
        (part.partition_index, part.low_watermark, int(part.error_code))
        for topic_answer in answer.topics
        for part in topic_answer.partitions
    ]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_log_begins_where_it_was_told(node: OneNode, version: int) -> None:
    assert delete(node, (0, 3), version=version) == [(0, 3, 0)]
    assert node.broker.partitions.get("t", 0).log.log_start_offset == 3


def test_an_offset_below_the_beginning_changes_nothing(node: OneNode) -> None:
    delete(node, (0, 3))
    assert delete(node, (0, 1)) == [(0, 3, 0)]


def test_minus_one_is_the_high_watermark(node: OneNode) -> None:
    assert delete(node, (0, -1), (1, 0)) == [(0, 10, 0), (1, -1, 3)]


def test_what_was_deleted_stays_deleted_when_the_process_or_the_power_dies(node: OneNode) -> None:
    delete(node, (0, 7))
    node.restart(killed=True)
    assert node.broker.partitions.get("t", 0).log.log_start_offset == 7
    delete(node, (0, 8))
    node.disk.crash()
    node.restart(killed=True)
    log = node.broker.partitions.get("t", 0).log
    assert log.log_start_offset == 8
    assert log.log_end_offset >= 8


@pytest.mark.parametrize(
    ("topic", "offset", "code"),
    [("t", 11, 1), ("t", -2, 1), ("none", 0, 3), ("compacted", 0, 44), ("__consumer_offsets", 0, 17)],
)
def test_what_cannot_be_deleted_is_refused(node: OneNode, topic: str, offset: int, code: int) -> None:
    node.create_topic("compacted", **{"cleanup.policy": "compact"})
    assert delete(node, (0, offset), topic=topic) == [(0, -1, code)]


def test_a_disk_that_refuses_is_an_error_and_no_silent_success(node: OneNode) -> None:
    node.disk.fail_next("write", OSError(errno.EIO, "broken"))
    ((_, low_watermark, code),) = delete(node, (0, 3))
    assert (low_watermark, code) == (-1, 56)
