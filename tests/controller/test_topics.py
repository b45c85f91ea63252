"""Decisions about topics, with Kafka's reasons for refusing."""

from __future__ import annotations

import dataclasses

import pytest

from penstock.controller.broker_records import RegisterBrokerRecord
from penstock.controller.image import Image, TopicState, replay
from penstock.controller.topics import (
    Defaults,
    NewTopic,
    check_name,
    decide_add_partitions,
    decide_create,
    decide_delete,
)
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.settings import TopicSettings

ID = bytes(range(16))
DEFAULTS = Defaults(default_partitions=2, default_replication_factor=1, topic_defaults=TopicSettings())
THREE = replay(
    Image(),
    [RegisterBrokerRecord(node, bytes([node]) * 16, node, (), None, fenced=False) for node in (1, 2, 3)],
)


def image_with(name: str, partitions: int = 1) -> Image:
    return replay(THREE, decide_create(THREE, NewTopic(name, partitions, 1), DEFAULTS, ID))


def topic(partitions: int = 1) -> TopicState:
    return image_with("t", partitions).topics["t"]


def refusal(error: pytest.ExceptionInfo[KafkaError]) -> tuple[ErrorCode, str]:
    return error.value.code, error.value.message


@pytest.mark.parametrize("name", ["a", "a.b_c-D9", "x" * 249])
def test_legal_names_pass(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a b", "ä", "x" * 250, "a\n", "a\0"])
def test_illegal_names_are_refused(name: str) -> None:
    with pytest.raises(KafkaError) as error:
        check_name(name)
    assert error.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_defaults_fill_what_the_wish_leaves_open() -> None:
    image = replay(THREE, decide_create(THREE, NewTopic("t"), DEFAULTS, ID))
    assert [state.replicas for state in image.topics["t"].partitions] == [(1,), (2,)]


def test_replicas_are_spread_over_the_brokers() -> None:
    image = replay(THREE, decide_create(THREE, NewTopic("t", 3, 2), DEFAULTS, ID))
    assert [state.replicas for state in image.topics["t"].partitions] == [(1, 2), (2, 3), (3, 1)]


def test_a_placement_of_the_clients_own_is_kept() -> None:
    wish = NewTopic("t", assignments={1: [3, 1], 0: [2, 1]})
    image = replay(THREE, decide_create(THREE, wish, DEFAULTS, ID))
    assert [state.replicas for state in image.topics["t"].partitions] == [(2, 1), (3, 1)]
    assert [state.leader for state in image.topics["t"].partitions] == [2, 3]


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        (NewTopic("t", 0, 1), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("t", 10_001, 1), ErrorCode.POLICY_VIOLATION),
        (NewTopic("t", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("t", 1, 4), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("t", 1, -1, {0: [1]}), ErrorCode.INVALID_REQUEST),
        (NewTopic("t", assignments={1: [1]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments={0: [9]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments={0: [1, 1]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", configs={"no.such.setting": "1"}), ErrorCode.INVALID_CONFIG),
        (NewTopic("t", configs={"retention.ms": "soon"}), ErrorCode.INVALID_CONFIG),
    ],
)
def test_a_wish_that_cannot_be_met_is_refused_with_kafkas_code(wish: NewTopic, code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as error:
        decide_create(THREE, wish, DEFAULTS, ID)
    assert error.value.code is code
    assert error.value.message


def test_a_second_topic_of_the_same_name_is_refused() -> None:
    with pytest.raises(KafkaError) as error:
        decide_create(image_with("t"), NewTopic("t", 1, 1), DEFAULTS, ID)
    assert refusal(error) == (ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 't' already exists.")


def test_a_name_that_would_be_the_same_in_the_metrics_is_refused() -> None:
    with pytest.raises(KafkaError) as error:
        decide_create(image_with("a.b"), NewTopic("a_b", 1, 1), DEFAULTS, ID)
    assert refusal(error) == (
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        "Topic 'a_b' collides with existing topic: a.b",
    )


def test_partitions_are_added_behind_those_that_exist() -> None:
    image = replay(image_with("t"), decide_add_partitions(THREE, topic(), 3, None))
    assert [state.replicas for state in image.topics["t"].partitions] == [(1,), (2,), (3,)]


@pytest.mark.parametrize(("count", "places"), [(2, None), (1, None)])
def test_fewer_or_equally_many_partitions_are_refused(count: int, places: None) -> None:
    with pytest.raises(KafkaError) as error:
        decide_add_partitions(THREE, topic(2), count, places)
    assert error.value.code is ErrorCode.INVALID_PARTITIONS


def test_a_wrong_number_of_places_is_refused() -> None:
    with pytest.raises(KafkaError) as error:
        decide_add_partitions(THREE, topic(), 3, [[1]])
    assert error.value.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_deleting_leaves_nothing_behind() -> None:
    assert replay(image_with("t"), decide_delete(topic())).topics == {}


def test_topic_defaults_of_the_broker_are_checked_with_the_overrides() -> None:
    odd = dataclasses.replace(
        DEFAULTS, topic_defaults=dataclasses.replace(TopicSettings(), max_message_bytes=5)
    )
    assert decide_create(THREE, NewTopic("t", 1, 1, configs={"max.message.bytes": "9"}), odd, ID)
