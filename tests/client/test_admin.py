"""Topics through a real broker: what is there, what changes, and what is refused with which words."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import pytest

from penstock.client.admin import Admin
from penstock.client.errors import BrokerUnreachable, InvalidValue, TopicExists, TopicNotFound
from penstock.client.messages import Messages
from penstock.client.metadata import PartitionInfo, TopicInfo, is_internal
from penstock.client.sending import NewRecord

NewTopic = Callable[..., str]


def test_the_cluster_names_its_brokers_and_its_controller(admin: Admin, bootstrap_servers: str) -> None:
    cluster = admin.cluster()
    assert cluster.cluster_id
    assert [f"{broker.host}:{broker.port}" for broker in cluster.brokers] == [bootstrap_servers]
    assert cluster.controller_id == cluster.brokers[0].node_id


def test_a_created_topic_is_listed_with_its_partitions_and_no_records(
    admin: Admin, new_topic: NewTopic
) -> None:
    name = new_topic(3)
    topic = next(topic for topic in admin.topics() if topic.name == name)
    assert [partition.index for partition in topic.partitions] == [0, 1, 2]
    assert topic.records == 0
    assert topic.replication_factor == 1
    assert not topic.internal


def test_records_are_counted_from_the_watermarks(
    admin: Admin, messages: Messages, new_topic: NewTopic
) -> None:
    name = new_topic(2)
    with messages.sender() as sender:
        for i in range(7):
            sender.send(name, NewRecord(b"v", partition=i % 2))
    topic = admin.topic(name)
    assert topic.records == 7
    assert [partition.high_watermark for partition in topic.partitions] == [4, 3]


def test_the_settings_of_a_topic_tell_its_own_from_the_defaults(admin: Admin, new_topic: NewTopic) -> None:
    detail = admin.topic_detail(new_topic(1, retention_ms="60000"))
    assert detail.config("retention.ms") == "60000"
    assert detail.config("cleanup.policy") == "delete"
    by_name = {entry.name: entry for entry in detail.configs}
    assert not by_name["retention.ms"].is_default
    assert by_name["cleanup.policy"].is_default


def test_partitions_can_be_added_but_not_taken_away(admin: Admin, new_topic: NewTopic) -> None:
    name = new_topic(2)
    admin.add_partitions(name, 4)
    assert len(admin.topic(name).partitions) == 4
    with pytest.raises(InvalidValue, match="has 4 partitions and cannot be changed to 3"):
        admin.add_partitions(name, 3)


def test_a_deleted_topic_is_gone(admin: Admin, new_topic: NewTopic) -> None:
    name = new_topic()
    admin.delete_topic(name)
    assert name not in [topic.name for topic in admin.topics(with_offsets=False)]


def test_creating_a_topic_twice_is_refused(admin: Admin, new_topic: NewTopic) -> None:
    name = new_topic()
    with pytest.raises(TopicExists, match=name):
        admin.create_topic(name, 1, 1)


@pytest.mark.parametrize("name", ["", "..", "no spaces", "../x", "ö", "a" * 250])
def test_a_bad_topic_name_is_refused_with_the_rule(admin: Admin, name: str) -> None:
    with pytest.raises(InvalidValue, match="1 to 249 letters, digits"):
        admin.create_topic(name, 1, 1)


def test_a_bad_setting_is_refused_by_name(admin: Admin) -> None:
    with pytest.raises(InvalidValue, match=r"no\.such\.setting"):
        admin.create_topic("bad-setting", 1, 1, {"no.such.setting": "1"})


def test_more_replicas_than_brokers_are_refused(admin: Admin) -> None:
    with pytest.raises(InvalidValue, match="no more than there are brokers"):
        admin.create_topic("too-many-replicas", 1, 3)


def test_no_partitions_at_all_are_refused(admin: Admin) -> None:
    with pytest.raises(InvalidValue, match="1 to 100000"):
        admin.create_topic("none", 0, 1)


@pytest.mark.parametrize("call", ["topic", "topic_detail", "configs", "delete_topic"])
def test_an_unknown_topic_is_named(admin: Admin, call: str) -> None:
    with pytest.raises(TopicNotFound, match="no-such-topic"):
        getattr(admin, call)("no-such-topic")


def test_asking_for_a_topic_does_not_create_it(admin: Admin) -> None:
    with pytest.raises(TopicNotFound):
        admin.topic("asked-for-only")
    assert "asked-for-only" not in [topic.name for topic in admin.topics(with_offsets=False)]


def test_an_unreachable_broker_is_reported_within_the_deadline() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(BrokerUnreachable, match="Connection refused") as raised:
            Admin(address, timeout_s=0.5).topics()
    assert address in str(raised.value)
    assert time.monotonic() - began < 3


def test_a_partition_without_a_leader_leaves_the_count_unknown() -> None:
    known = PartitionInfo(0, 1, (1,), (1,), 5, 9)
    unknown = PartitionInfo(1, None, (1,), ())
    assert TopicInfo("t", (known,)).records == 4
    assert TopicInfo("t", (known, unknown)).records is None
    assert TopicInfo("t", (known, unknown)).end_offsets_sum is None


@pytest.mark.parametrize(
    ("name", "internal"), [("__consumer_offsets", True), ("_schemas", True), ("_mine", False)]
)
def test_internal_topics_are_told_by_their_name(name: str, internal: bool) -> None:
    assert is_internal(name) is internal
