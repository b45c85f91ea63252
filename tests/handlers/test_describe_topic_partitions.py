"""DescribeTopicPartitions: pages of partitions. The answers are those of Apache Kafka 4.2 for the same
topics."""

from __future__ import annotations

import pytest

from penstock.protocol.apis import Api
from tests.handlers.one_node import OneNode

ALL_OPERATIONS = 3576
NOT_ASKED = -(2**31)

Page = tuple[list[tuple[str, int, list[int]]], tuple[str, int] | None]


@pytest.fixture(scope="module")
def node() -> OneNode:
    node = OneNode({"max.request.partition.size.limit": "5"})
    node.create_topic("c")
    node.create_topic("cd", 2)
    node.create_topic("t")
    return node


def page(node: OneNode, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> Page:
    answer = node.ask(
        Api.DESCRIBE_TOPIC_PARTITIONS,
        0,
        topics=[{"name": name} for name in names],
        response_partition_limit=limit,
        cursor=cursor and {"topic_name": cursor[0], "partition_index": cursor[1]},
    )
    topics = [
        (topic.name, int(topic.error_code), [part.partition_index for part in topic.partitions])
        for topic in answer.topics
    ]
    following = answer.next_cursor
    return topics, following and (following.topic_name, following.partition_index)


def test_all_topics_are_described_in_the_order_of_their_names(node: OneNode) -> None:
    assert page(node) == ([("c", 0, [0]), ("cd", 0, [0, 1]), ("t", 0, [0])], None)


def test_an_answer_ends_at_its_limit_and_says_where_to_go_on(node: OneNode) -> None:
    assert page(node, "cd", "t", limit=1) == ([("cd", 0, [0])], ("cd", 1))
    assert page(node, "cd", "t", limit=2) == ([("cd", 0, [0, 1])], ("t", 0))
    assert page(node, "cd", limit=1, cursor=("cd", 1)) == ([("cd", 0, [1])], None)
    assert page(node, "cd", limit=0) == ([("cd", 0, [0])], ("cd", 1))
    assert page(node, "cd", "t", "c", limit=3) == ([("c", 0, [0]), ("cd", 0, [0, 1])], ("t", 0))


def test_a_cursor_begins_at_its_topic_and_partition(node: OneNode) -> None:
    assert page(node, cursor=("d", 0)) == ([("t", 0, [0])], None)
    assert page(node, "cd", "t", cursor=("cd", 1)) == ([("cd", 0, [1]), ("t", 0, [0])], None)
    assert page(node, "cd", cursor=("cd", 9)) == ([("cd", 0, [])], None)


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_pages_together_are_the_whole(node: OneNode, limit: int) -> None:
    seen: list[tuple[str, int]] = []
    cursor: tuple[str, int] | None = None
    for _ in range(10):
        topics, cursor = page(node, limit=limit, cursor=cursor)
        seen += [(name, index) for name, _, indexes in topics for index in indexes]
        if cursor is None:
            break
    assert seen == [("c", 0), ("cd", 0), ("cd", 1), ("t", 0)]


def test_the_brokers_own_limit_holds_whatever_is_asked(node: OneNode) -> None:
    node.create_topic("wide", 8)
    assert page(node, "wide") == ([("wide", 0, [0, 1, 2, 3, 4])], ("wide", 5))


def test_what_cannot_be_described_says_why(node: OneNode) -> None:
    assert page(node, "none", "t") == ([("none", 3, []), ("t", 0, [0])], None)
    assert page(node, "a/b") == ([("a/b", 17, [])], None)
    assert page(node, "cd", cursor=("zz", 0)) == ([("cd", 42, [])], None)
    assert page(node, "cd", cursor=("cd", -3)) == ([("cd", 42, [])], None)


def test_partitions_come_with_leader_replicas_and_operations(node: OneNode) -> None:
    answer = node.ask(
        Api.DESCRIBE_TOPIC_PARTITIONS, 0, topics=[{"name": "t"}], response_partition_limit=9, cursor=None
    )
    (topic,) = answer.topics
    (part,) = topic.partitions
    assert (part.leader_id, part.leader_epoch, part.replica_nodes, part.isr_nodes) == (1, 0, (1,), (1,))
    assert topic.topic_authorized_operations == ALL_OPERATIONS


def test_operations_are_told_by_metadata_and_describe_cluster_when_asked(node: OneNode) -> None:
    def told(*, asked: bool) -> tuple[int, int]:
        topic = node.ask(
            Api.METADATA,
            12,
            topics=[{"topic_id": None, "name": "t"}],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=asked,
        ).topics[0]
        cluster = node.ask(
            Api.DESCRIBE_CLUSTER, 1, include_cluster_authorized_operations=asked, endpoint_type=1
        )
        return topic.topic_authorized_operations, cluster.cluster_authorized_operations

    assert told(asked=False) == (NOT_ASKED, NOT_ASKED)
    assert told(asked=True) == (ALL_OPERATIONS, 0b1111110100000 | 0)
