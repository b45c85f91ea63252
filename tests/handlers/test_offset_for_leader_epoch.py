"""OffsetForLeaderEpoch: where an epoch ended. Answers are those of Apache Kafka 4.2."""

from __future__ import annotations

import pytest

from penstock.protocol.apis import Api
from tests.handlers.one_node import OneNode


@pytest.fixture
def node() -> OneNode:
    node = OneNode()
    node.create_topic("t")
    node.create_topic("empty")
    node.append("t", [b"a", b"b"])
    return node


def ask(
    node: OneNode, epoch: int, current: int = -1, *, topic: str = "t", partition: int = 0, version: int = 4
) -> tuple[int, int, int]:
    wanted = {"partition": partition, "current_leader_epoch": current, "leader_epoch": epoch}
    answer = node.ask(
        Api.OFFSET_FOR_LEADER_EPOCH, version, replica_id=-1, topics=[{"topic": topic, "partitions": [wanted]}]
    )
    (found,) = answer.topics[0].partitions
    return int(found.error_code), found.leader_epoch, found.end_offset


@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_present_epoch_ends_where_the_log_ends(node: OneNode, version: int) -> None:
    assert ask(node, 0, version=version) == (0, 0, 2)
    assert ask(node, 0, current=0, version=version) == (0, 0, 2)


def test_an_epoch_without_records_ends_where_it_began(node: OneNode) -> None:
    assert ask(node, 0, topic="empty") == (0, 0, 0)


def test_an_older_epoch_ends_where_the_next_began(node: OneNode) -> None:
    partition = node.broker.partitions.get("t", 0)
    partition.leader_epoch = 3
    node.append("t", [b"c"])
    assert ask(node, 0) == (0, 0, 2)
    assert ask(node, 2) == (0, 0, 2)
    assert ask(node, 3) == (0, 3, 3)
    assert ask(node, 0, current=2) == (74, -1, -1)


def test_an_epoch_that_is_not_known_has_no_end(node: OneNode) -> None:
    assert ask(node, 5) == (0, -1, -1)
    assert ask(node, -1) == (0, -1, -1)
    assert ask(node, -7, topic="empty") == (0, -1, -1)


def test_a_client_that_knows_more_than_we_do_must_wait(node: OneNode) -> None:
    assert ask(node, 0, current=5) == (75, -1, -1)


def test_a_partition_that_is_not_here_is_said_to_be_unknown(node: OneNode) -> None:
    assert ask(node, 0, topic="none") == (3, -1, -1)
    assert ask(node, 0, partition=1) == (3, -1, -1)
