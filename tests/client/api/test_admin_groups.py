"""Calls of `Admin` about share groups and Streams groups, and about itself."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from penstock.client import (
    Admin,
    AlterConfigOp,
    ConfigResource,
    Consumer,
    IllegalStateException,
    OffsetAndMetadata,
    Producer,
    ShareConsumer,
    TopicPartition,
    UnsupportedVersionException,
    WakeupException,
)
from penstock.client.api import broker_errors as errors
from tests.client.api.conftest import poll_until

SECONDS = 20.0


@pytest.fixture
def admin(bootstrap: str) -> Iterator[Admin]:
    with Admin.create({"bootstrap.servers": bootstrap, "default.api.timeout.ms": 15_000}) as made:
        yield made


@pytest.fixture
def group(admin: Admin) -> str:
    """A share group that begins with the first record."""
    name = f"share-{uuid.uuid4().hex[:8]}"
    owner = ConfigResource("GROUP", name)
    change = AlterConfigOp("share.auto.offset.reset", "earliest")
    admin.incremental_alter_configs({owner: [change]}).result(SECONDS)
    return name


def test_a_share_group_is_described_moved_and_deleted(
    admin: Admin, bootstrap: str, topic: str, group: str
) -> None:
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        for number in range(5):
            producer.send(topic, b"%d" % number)
    at = TopicPartition(topic, 0)
    with ShareConsumer({"bootstrap.servers": bootstrap, "group.id": group}) as consumer:
        consumer.subscribe([topic])
        assert len(poll_until(consumer, 5)) == 5
        consumer.commit_sync()
        described = admin.describe_share_groups([group]).described_groups()[group].result(SECONDS)
        assert described.group_state == "Stable"
        assert described.group_epoch > 0
        assert [each.assignment for each in described.members] == [(at,)]
        assert consumer.metrics()["records-consumed-total"] == 5
        assert consumer.acquisition_lock_timeout_ms() == 30_000
        refused = admin.alter_share_group_offsets(group, {at: 1}).partition_result(at).exception(SECONDS)
        assert type(refused) is errors.GroupNotEmptyException
    assert group in {each.group_id for each in admin.list_groups(types=["share"]).all().result(SECONDS)}

    found = admin.list_share_group_offsets(group).partitions_to_offset_info().result(SECONDS)
    assert found[at].lag == 0  # Kafka moves the start a while after the records were accepted
    admin.alter_share_group_offsets(group, {at: 2}).result(SECONDS)
    found = admin.list_share_group_offsets({group: [at]}).result(SECONDS)[group]
    assert found[at].start_offset == 2
    assert found[at].lag in (3, None)
    admin.delete_share_group_offsets(group, [topic]).topic_result(topic).result(SECONDS)
    assert not admin.list_share_group_offsets(group).result(SECONDS)[group]
    admin.delete_share_groups([group]).result(SECONDS)
    gone = admin.describe_share_groups([group]).values()[group].exception(SECONDS)
    assert type(gone) is errors.GroupIdNotFoundException


def test_a_consumer_group_is_no_share_group(admin: Admin, topic: str) -> None:
    name = f"plain-{uuid.uuid4().hex[:8]}"
    admin.alter_consumer_group_offsets(name, {TopicPartition(topic, 0): 0}).result(SECONDS)
    refused = admin.describe_share_groups([name]).values()[name].exception(SECONDS)
    assert type(refused) is errors.GroupIdNotFoundException


def test_offsets_of_streams_groups_are_set_and_read(admin: Admin, topic: str, on_apache: bool) -> None:
    name, at = f"streams-{uuid.uuid4().hex[:8]}", TopicPartition(topic, 0)
    admin.alter_streams_group_offsets(name, {at: OffsetAndMetadata(3)}).result(SECONDS)
    found = admin.list_streams_group_offsets(name).partitions_to_offset_and_metadata().result(SECONDS)
    assert found[at].offset == 3
    admin.delete_streams_group_offsets(name, [at]).result(SECONDS)
    assert not admin.list_streams_group_offsets(name).result(SECONDS)[name]
    admin.alter_streams_group_offsets(name, {at: 1}).result(SECONDS)
    described = admin.describe_streams_groups([name]).values()[name].exception(SECONDS)
    wanted = errors.GroupIdNotFoundException if on_apache else UnsupportedVersionException
    assert type(described) is wanted
    admin.delete_streams_groups([name]).result(SECONDS)


def test_an_admin_counts_its_requests_and_pushes_no_metrics(admin: Admin) -> None:
    admin.list_topics().names().result(SECONDS)
    assert admin.metrics()["request-total"] >= 1
    assert admin.metrics()["response-total"] >= 1
    assert admin.list_client_metrics_resources().result(SECONDS) == []
    admin.register_metric_for_subscription("mine")
    admin.unregister_metric_from_subscription("mine")
    with pytest.raises(IllegalStateException, match="Telemetry is not enabled"):
        admin.client_instance_id()


def test_wakeup_ends_a_share_consumers_poll(bootstrap: str, topic: str, group: str) -> None:
    with ShareConsumer({"bootstrap.servers": bootstrap, "group.id": group}) as consumer:
        consumer.subscribe([topic])
        consumer.wakeup()
        with pytest.raises(WakeupException):
            consumer.poll(SECONDS)
        assert not consumer.poll(0)


def test_a_rebalance_is_not_enforced(bootstrap: str) -> None:
    with (
        Consumer({"bootstrap.servers": bootstrap, "group.id": "g"}) as consumer,
        pytest.raises(UnsupportedVersionException, match="unsubscribe"),
    ):
        consumer.enforce_rebalance("because")
