"""Bad wishes about topics, with the codes and sentences of Apache Kafka 4.2 for the same requests."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.protocol.apis import Api
from tests.handlers.one_node import OneNode

Answer = list[tuple[int, str | None]]
SOME_ID = b"\x05" * 16


@pytest.fixture
def node() -> OneNode:
    node = OneNode()
    node.create_topic("base", 3)
    node.create_topic("ba.se")
    return node


def wish(
    name: str = "n",
    partitions: int = 1,
    factor: int = 1,
    assignments: dict[int, tuple[int, ...]] | list[tuple[int, tuple[int, ...]]] | None = None,
    **configs: str | None,
) -> dict[str, Any]:
    placed = assignments.items() if isinstance(assignments, dict) else assignments or ()
    return {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": factor,
        "assignments": [{"partition_index": index, "broker_ids": brokers} for index, brokers in placed],
        "configs": [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()],
    }


def create(node: OneNode, *wishes: dict[str, Any], validate_only: bool = False) -> list[Any]:
    answer = node.ask(Api.CREATE_TOPICS, 7, topics=wishes, timeout=1000, validate_only=validate_only)
    return list(answer.topics)


def placed(*places: tuple[int, tuple[int, ...]]) -> dict[str, Any]:
    return wish("n", -1, -1, list(places))


BAD_WISHES = [
    (wish("base"), 36, "Topic 'base' already exists."),
    (wish(""), 17, "Topic name is invalid: the empty string is not allowed"),
    (wish("."), 17, "Topic name is invalid: '.' is not allowed"),
    (wish("a/b"), 17, "Topic name is invalid: 'a/b' contains one or more characters other than ASCII "
     "alphanumerics, '.', '_' and '-'"),
    (wish("x" * 250), 17,
     f"Topic name is invalid: the length of '{'x' * 250}' is longer than the max allowed length 249"),
    (wish("ba_se"), 17, "Topic 'ba_se' collides with existing topic: ba.se"),
    (wish(partitions=0), 37, "Number of partitions was set to an invalid non-positive value."),
    (wish(partitions=-2), 37, "Number of partitions was set to an invalid non-positive value."),
    (wish(factor=0), 38, "Replication factor must be larger than 0, or -1 to use the default value."),
    (wish(factor=5), 38, "Unable to replicate the partition 5 time(s): The target replication factor of 5 "
     "cannot be reached because only 1 broker(s) are registered."),
    (wish(partitions=10_001), 44, "Excessively large number of partitions per request."),
    (wish("n", 1, -1, {0: (1,)}), 42,
     "A manual partition assignment was specified, but numPartitions was not set to -1."),
    (wish("n", -1, 1, {0: (1,)}), 42,
     "A manual partition assignment was specified, but replication factor was not set to -1."),
    (placed((1, (1,))), 39, "partitions should be a consecutive 0-based integer sequence"),
    (placed((0, (1,)), (0, (1,))), 39, "Found multiple manual partition assignments for partition 0"),
    (placed((0, (9,))), 39,
     "The manual partition assignment includes broker 9, but no such broker is registered."),
    (placed((0, (1, 1))), 39, "The manual partition assignment includes the broker 1 more than once."),
    (placed((0, ())), 39, "The manual partition assignment includes an empty replica list."),
    (wish(retention_ms="x"), 40,
     "Invalid value x for configuration retention.ms: Not a number of type LONG"),
    (wish(nonsense="x"), 40, "Unknown topic config name: nonsense"),
    (wish(retention_ms=None), 40, "Null value not supported for topic configs: retention.ms"),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "code", "message"), BAD_WISHES)
def test_a_topic_that_cannot_be_made_is_refused(
    node: OneNode, wanted: dict[str, Any], code: int, message: str
) -> None:
    (topic,) = create(node, wanted)
    assert (int(topic.error_code), topic.error_message) == (code, message)
    assert (topic.num_partitions, topic.replication_factor) == (-1, -1)


def test_a_topic_that_is_wanted_twice_is_refused_once(node: OneNode) -> None:
    (topic,) = create(node, wish("d"), wish("d"))
    assert (int(topic.error_code), topic.error_message) == (42, "Duplicate topic name.")


def test_a_wish_that_is_only_checked_tells_what_would_be_made(node: OneNode) -> None:
    (topic,) = create(node, wish("n", 4, retention_ms="77"), validate_only=True)
    assert (topic.error_code, topic.num_partitions, topic.replication_factor) == (0, 4, 1)
    assert {entry.name: entry.value for entry in topic.configs}["retention.ms"] == "77"
    assert topic.topic_id is None
    assert "n" not in node.broker.controller.image.topics


def more(count: int, *assignments: tuple[int, ...], name: str = "base") -> dict[str, Any]:
    places = [{"broker_ids": brokers} for brokers in assignments]
    return {"name": name, "count": count, "assignments": places or None}


BAD_PARTITIONS = [
    (more(3), 37, "Topic already has 3 partition(s)."),
    (more(2), 37, "The topic base currently has 3 partition(s); 2 would not be an increase."),
    (more(-1), 37, "The topic base currently has 3 partition(s); -1 would not be an increase."),
    (more(2, name="none"), 3, None),
    (more(5, (1,)), 39,
     "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified."),
    (more(4, (7,)), 39,
     "The manual partition assignment includes broker 7, but no such broker is registered."),
    (more(4, ()), 39, "The manual partition assignment includes an empty replica list."),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "code", "message"), BAD_PARTITIONS)
def test_partitions_that_cannot_be_added_are_refused(
    node: OneNode, wanted: dict[str, Any], code: int, message: str | None
) -> None:
    answer = node.ask(Api.CREATE_PARTITIONS, 3, topics=[wanted], timeout=1000, validate_only=False)
    assert [(int(item.error_code), item.error_message) for item in answer.results] == [(code, message)]


def test_partitions_that_are_wanted_twice_are_refused_once(node: OneNode) -> None:
    answer = node.ask(Api.CREATE_PARTITIONS, 3, topics=[more(4)] * 2, timeout=1000, validate_only=False)
    assert [(int(item.error_code), item.error_message) for item in answer.results] == [
        (42, "Duplicate topic name.")
    ]


BAD_DELETIONS = [
    ([("none", None)], 3, "This server does not host this topic-partition."),
    ([("a/b", None)], 3, "This server does not host this topic-partition."),
    ([(None, SOME_ID)], 100, "This server does not host this topic ID."),
    ([("base", SOME_ID)], 42, "You may not specify both topic name and topic id."),
    ([(None, None)], 42, "Neither topic name nor id were specified."),
    ([("base", None), ("base", None)], 42, "Duplicate topic name."),
]


@pytest.mark.parametrize(("wanted", "code", "message"), BAD_DELETIONS)
def test_a_topic_that_cannot_be_deleted_is_refused(
    node: OneNode, wanted: list[tuple[str | None, bytes | None]], code: int, message: str
) -> None:
    topics = [{"name": name, "topic_id": topic_id} for name, topic_id in wanted]
    answer = node.ask(Api.DELETE_TOPICS, 6, topics=topics, timeout=1000)
    assert [(int(item.error_code), item.error_message) for item in answer.responses] == [(code, message)]
    assert "base" in node.broker.controller.image.topics


@pytest.mark.parametrize(
    ("kind", "code", "message"),
    [
        (2, 114, "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type "
         "CONTROLLER"),
        (9, 115, "Unsupported endpoint type 9"),
    ],
)  # fmt: skip
def test_an_endpoint_that_is_no_brokers_is_refused(node: OneNode, kind: int, code: int, message: str) -> None:
    answer = node.ask(
        Api.DESCRIBE_CLUSTER, 1, include_cluster_authorized_operations=False, endpoint_type=kind
    )
    assert (int(answer.error_code), answer.error_message) == (code, message)


def test_a_producer_that_names_half_of_its_identity_is_refused(node: OneNode) -> None:
    answer = node.ask(
        Api.INIT_PRODUCER_ID,
        4,
        transactional_id=None,
        transaction_timeout=1000,
        producer_id=5,
        producer_epoch=-1,
    )
    assert (answer.error_code, answer.producer_epoch) == (42, -1)
