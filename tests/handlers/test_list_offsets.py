"""ListOffsets: every special timestamp, in the versions that have it. Codes are those of Apache Kafka 4.2."""

from __future__ import annotations

import pytest

from penstock.protocol.apis import Api
from tests.handlers.one_node import OneNode

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, PENDING_UPLOAD = -1, -2, -3, -4, -5, -6


@pytest.fixture(scope="module")
def node() -> OneNode:
    node = OneNode()
    node.create_topic("t")
    node.create_topic("empty")
    for index in range(4):
        node.append("t", [b"%d" % index])
        node.clock.pass_ms(10)
    node.broker.partitions.get("t", 0).leader_epoch = 2
    node.append("t", [b"4"])
    node.broker.partitions.get("t", 0).delete_records(1)
    return node


def ask(
    node: OneNode, timestamp: int, version: int = 10, *, topic: str = "t", partition: int = 0, epoch: int = -1
) -> tuple[int, int, int, int]:
    wanted = {"partition_index": partition, "current_leader_epoch": epoch, "timestamp": timestamp}
    answer = node.ask(
        Api.LIST_OFFSETS,
        version,
        replica_id=-1,
        isolation_level=0,
        topics=[{"name": topic, "partitions": [wanted]}],
        timeout=1000,
    )
    (found,) = answer.topics[0].partitions
    return int(found.error_code), found.timestamp, found.offset, getattr(found, "leader_epoch", -1)


def test_the_ends_of_the_log_come_with_their_epochs(node: OneNode) -> None:
    assert ask(node, LATEST) == (0, -1, 5, 2)
    assert ask(node, EARLIEST) == (0, -1, 1, 0)
    assert ask(node, EARLIEST_LOCAL) == (0, -1, 1, 0)
    assert ask(node, LATEST_TIERED) == (0, -1, -1, -1)
    assert ask(node, PENDING_UPLOAD, 11) == (0, -1, -1, -1)


def test_the_largest_timestamp_is_found(node: OneNode) -> None:
    assert ask(node, MAX_TIMESTAMP) == (0, node.clock.now_ms(), 4, 2)
    assert ask(node, MAX_TIMESTAMP, topic="empty") == (0, -1, -1, -1)


def test_a_time_gives_the_first_record_from_then_on(node: OneNode) -> None:
    now = node.clock.now_ms()
    assert ask(node, now - 25) == (0, now - 20, 2, 0)
    assert ask(node, now + 1) == (0, -1, -1, -1)
    assert ask(node, 0) == (0, now - 30, 1, 0)


@pytest.mark.parametrize(
    ("timestamp", "first"),
    [(MAX_TIMESTAMP, 7), (EARLIEST_LOCAL, 8), (LATEST_TIERED, 9), (PENDING_UPLOAD, 11)],
)
def test_a_special_timestamp_means_nothing_in_versions_before_it(
    node: OneNode, timestamp: int, first: int
) -> None:
    assert ask(node, timestamp, first - 1)[0] == 35
    assert ask(node, timestamp, first)[0] == 0


@pytest.mark.parametrize("timestamp", [-6, -7, -100])
def test_a_special_timestamp_that_nobody_knows_is_refused(node: OneNode, timestamp: int) -> None:
    assert ask(node, timestamp) == (35, -1, -1, -1)


def test_partitions_that_are_not_here_and_epochs_that_differ_are_refused(node: OneNode) -> None:
    assert ask(node, LATEST, topic="none")[0] == 3
    assert ask(node, LATEST, partition=9)[0] == 3
    assert ask(node, LATEST, epoch=7)[0] == 75
    assert ask(node, LATEST, epoch=1)[0] == 74
