"""Groups as an ordinary client sees them: members, committed offsets, lag."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, TopicPartition

from penstock.client.admin import Admin
from penstock.client.errors import GroupNotFound, InvalidValue
from penstock.client.groups import Groups
from penstock.client.messages import Messages
from penstock.client.sending import NewRecord


@pytest.fixture(scope="module")
def groups(admin: Admin) -> Groups:
    return Groups(admin)


@pytest.fixture
def topic(messages: Messages, new_topic: Callable[..., str]) -> str:
    name = new_topic(2)
    for number in range(10):
        messages.produce(name, NewRecord(b"%d" % number, partition=number % 2))
    return name


def test_lag_counts_from_the_committed_offset_to_the_end(
    groups: Groups, topic: str, bootstrap_servers: str
) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "behind"})
    consumer.commit(offsets=[TopicPartition(topic, 0, 2), TopicPartition(topic, 1, 5)], asynchronous=False)
    consumer.close()
    group, lags = groups.lags("behind")
    assert group.state == "EMPTY"
    assert group.members == ()
    assert [(at.topic, at.partition, at.committed_offset, at.lag) for at in lags] == [
        (topic, 0, 2, 3),
        (topic, 1, 5, 0),
    ]


def test_a_member_is_described_with_its_partitions(
    groups: Groups, topic: str, bootstrap_servers: str
) -> None:
    settings = {"bootstrap.servers": bootstrap_servers, "group.id": "reading", "client.id": "reader"}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    try:
        assert consumer.poll(10) is not None
        group = groups.describe("reading")
        assert group.state == "STABLE"
        (member,) = group.members
        assert member.client_id == "reader"
        assert member.partitions == ((topic, 0), (topic, 1))
        assert "reading" in [found.group_id for found in groups.describe_all()]
    finally:
        consumer.close()


def test_a_group_that_is_not_there_is_named(groups: Groups) -> None:
    with pytest.raises(GroupNotFound, match="nonesuch"):
        groups.describe("nonesuch")
    with pytest.raises(InvalidValue):
        groups.describe("")
