"""Metadata: topics that are there, and those that are not."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from tests.handlers.one_node import OneNode

ALL_OPERATIONS_OF_A_TOPIC = 3576
NOT_ASKED = -(2**31)


@pytest.fixture
def node() -> OneNode:
    node = OneNode({"offsets.topic.num.partitions": "4", "transaction.state.log.num.partitions": "3"})
    node.create_topic("t", 2)
    return node


def topics(node: OneNode, *names: str, create: bool = False, operations: bool = False) -> list[Any]:
    answer = node.ask(
        Api.METADATA,
        10,
        topics=[{"name": name, "topic_id": bytes(16)} for name in names],
        allow_auto_topic_creation=create,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=operations,
    )
    return list(answer.topics)


def test_a_topic_that_is_named_for_the_first_time_is_created_for_the_next_request(node: OneNode) -> None:
    (first,) = topics(node, "new", create=True)
    assert (int(first.error_code), first.partitions) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ())
    (second,) = topics(node, "new")
    assert (int(second.error_code), len(second.partitions)) == (0, 1)


@pytest.mark.parametrize(("name", "partitions"), [("__consumer_offsets", 4), ("__transaction_state", 3)])
def test_an_internal_topic_gets_its_own_settings_whatever_names_it_first(
    node: OneNode, name: str, partitions: int
) -> None:
    (first,) = topics(node, name, create=True)
    assert (int(first.error_code), first.is_internal) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True)
    (second,) = topics(node, name)
    assert (second.is_internal, len(second.partitions)) == (True, partitions)
    assert node.broker.controller.image.topic_config(name)["cleanup.policy"] == "compact"


def test_the_operations_on_an_unknown_topic_are_told(node: OneNode) -> None:
    answers = topics(node, "t", "no-such", "no such", operations=True)
    assert [topic.topic_authorized_operations for topic in answers] == [ALL_OPERATIONS_OF_A_TOPIC] * 3
    (silent,) = topics(node, "no-such")
    assert silent.topic_authorized_operations == NOT_ASKED


def test_a_topic_that_is_named_twice_is_answered_once(node: OneNode) -> None:
    assert [topic.name for topic in topics(node, "t", "no-such", "t")] == ["t", "no-such"]


def test_a_topic_that_is_deleted_by_name_is_answered_with_its_id(node: OneNode) -> None:
    (before,) = topics(node, "t")
    named = [{"name": "t", "topic_id": None}]
    (deleted,) = node.ask(Api.DELETE_TOPICS, 6, topics=named, timeout=1000).responses
    assert (deleted.name, deleted.topic_id) == ("t", before.topic_id)
