"""Requests about the cluster, on a node that is alone: features, reassignments, elections, brokers."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from tests.handlers.one_node import OneNode

UPGRADE, DOWNGRADE = 1, 2


@pytest.fixture
def node() -> OneNode:
    node = OneNode()
    node.create_topic("t", 2)
    return node


def update(node: OneNode, name: str, level: int, kind: int, *, validate_only: bool = False) -> int:
    change = {"feature": name, "max_version_level": level, "upgrade_type": kind}
    fields: dict[str, Any] = {"timeout": 1000, "feature_updates": [change], "validate_only": validate_only}
    return int(node.ask(Api.UPDATE_FEATURES, 2, **fields).error_code)


def level(node: OneNode, name: str) -> int:
    answer = node.ask(Api.API_VERSIONS, 3, client_software_name="test", client_software_version="1")
    return {feature.name: int(feature.max_version_level) for feature in answer.finalized_features}[name]


def test_a_feature_is_lowered_when_that_is_asked_for_and_stays_so_after_a_restart(node: OneNode) -> None:
    assert update(node, "transaction.version", 1, UPGRADE) == ErrorCode.INVALID_UPDATE_VERSION
    assert update(node, "transaction.version", 1, DOWNGRADE, validate_only=True) == 0
    assert level(node, "transaction.version") == 2
    assert update(node, "transaction.version", 1, DOWNGRADE) == 0
    node.restart()
    assert level(node, "transaction.version") == 1
    assert update(node, "transaction.version", 2, UPGRADE) == 0
    assert level(node, "transaction.version") == 2


@pytest.mark.parametrize(
    ("name", "wanted", "code"),
    [
        ("metadata.version", 24, ErrorCode.INVALID_UPDATE_VERSION),
        ("group.version", 9, ErrorCode.INVALID_UPDATE_VERSION),
        ("no.such.feature", 1, ErrorCode.INVALID_UPDATE_VERSION),
        ("kraft.version", 1, ErrorCode.INVALID_UPDATE_VERSION),
        ("eligible.leader.replicas.version", 0, ErrorCode.INVALID_UPDATE_VERSION),
    ],
)
def test_a_level_that_cannot_be_is_refused(node: OneNode, name: str, wanted: int, code: ErrorCode) -> None:
    assert update(node, name, wanted, DOWNGRADE) == code


def test_the_only_broker_keeps_its_partitions_whatever_is_asked(node: OneNode) -> None:
    places = [{"topic": "t", "partitions": (0, 7)}]
    answer = node.ask(Api.ELECT_LEADERS, 2, election_type=0, topic_partitions=places, timeout=1000)
    (topic,) = answer.replica_election_results
    assert [(int(part.error_code), part.error_message) for part in topic.partition_result] == [
        (ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "No such partition as t-7"),
    ]
    moves = [{"partition_index": 0, "replicas": (1, 2)}, {"partition_index": 1, "replicas": None}]
    wanted = [{"name": "t", "partitions": moves}]
    answer = node.ask(Api.ALTER_PARTITION_REASSIGNMENTS, 0, timeout=1000, topics=wanted)
    assert [int(part.error_code) for part in answer.responses[0].partitions] == [
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
    ]
    assert node.ask(Api.LIST_PARTITION_REASSIGNMENTS, 0, timeout=1000, topics=None).topics == ()


def test_brokers_are_told_and_one_that_is_not_registered_cannot_be_forgotten(node: OneNode) -> None:
    fields = {"include_cluster_authorized_operations": False, "endpoint_type": 1}
    answer = node.ask(Api.DESCRIBE_CLUSTER, 2, include_fenced_brokers=True, **fields)
    assert [(int(each.broker_id), each.is_fenced) for each in answer.brokers] == [(1, False)]
    refused = node.ask(Api.UNREGISTER_BROKER, 0, broker_id=9)
    assert int(refused.error_code) == ErrorCode.BROKER_ID_NOT_REGISTERED


def test_a_restart_gives_the_broker_a_new_epoch_and_its_partitions_the_same_leader(node: OneNode) -> None:
    before = node.broker.controller.image
    node.restart(killed=True)
    after = node.broker.controller.image
    assert after.brokers[1].broker_epoch > before.brokers[1].broker_epoch
    assert after.topics["t"].partitions == before.topics["t"].partitions
