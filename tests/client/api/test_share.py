"""The share consumer, on Penstock's broker and with `--apache` on Apache Kafka's."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from penstock.client import (
    AcknowledgeType,
    Admin,
    AlterConfigOp,
    ConfigException,
    ConfigResource,
    IllegalStateException,
    InvalidGroupIdException,
    Producer,
    ShareConsumer,
    StringDeserializer,
)
from tests.client.api.conftest import poll_until


@pytest.fixture
def group(bootstrap: str) -> str:
    """One that begins with the first record."""
    name = f"share-{uuid.uuid4().hex[:8]}"
    with Admin({"bootstrap.servers": bootstrap}) as admin:
        owner = ConfigResource("GROUP", name)
        admin.incremental_alter_configs(
            {owner: [AlterConfigOp("share.auto.offset.reset", "earliest")]}
        ).result(20)
    return name


def settings(bootstrap: str, group: str, **more: Any) -> dict[str, Any]:
    named = {name.replace("_", "."): value for name, value in more.items()}
    return {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "value.deserializer": StringDeserializer,
        **named,
    }


def send(bootstrap: str, topic: str, *values: str) -> None:
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        for value in values:
            producer.send(topic, value.encode())


def test_records_are_accepted_released_and_rejected(bootstrap: str, topic: str, group: str) -> None:
    send(bootstrap, topic, "a", "b", "c")
    told: list[Any] = []
    with ShareConsumer(settings(bootstrap, group, share_acknowledgement_mode="explicit")) as consumer:
        consumer.set_acknowledgement_commit_callback(lambda offsets, error: told.append((offsets, error)))
        consumer.subscribe([topic])
        assert consumer.subscription() == {topic}
        found = {record.value: record for record in poll_until(consumer, 3, 60)}
        consumer.acknowledge(found["a"])
        consumer.acknowledge(found["b"], AcknowledgeType.RELEASE)
        consumer.acknowledge(found["c"], AcknowledgeType.REJECT)
        assert list(consumer.commit_sync().values()) == [None]
        (again,) = poll_until(consumer, 1, 60)
        assert (again.value, again.delivery_count) == ("b", 2)
        consumer.acknowledge(again)
        consumer.commit_sync()
    assert all(error is None for _, error in told)


def test_members_share_the_records_of_one_partition(
    bootstrap: str, topic_of: Callable[..., str], group: str
) -> None:
    topic = topic_of()
    few = settings(bootstrap, group, max_poll_records=10)
    with ShareConsumer(few) as one, ShareConsumer(few) as other:
        for consumer in (one, other):
            consumer.subscribe([topic])
            consumer.poll(2)
        send(bootstrap, topic, *map(str, range(100)))
        seen: list[str] = []
        for _ in range(200):
            seen += [record.value for consumer in (one, other) for record in consumer.poll(0.2)]
            if len(seen) >= 100:
                break
        assert sorted(seen, key=int) == [str(number) for number in range(100)], "each of them once"


def test_calls_and_settings_are_checked(bootstrap: str) -> None:
    with pytest.raises(InvalidGroupIdException):
        ShareConsumer({"bootstrap.servers": bootstrap})
    with pytest.raises(ConfigException, match="the group has it"):
        ShareConsumer(settings(bootstrap, "g", auto_offset_reset="earliest"))
    with pytest.raises(ConfigException, match="Did you mean"):
        ShareConsumer(settings(bootstrap, "g", share_acknowledgment_mode="explicit"))
    consumer = ShareConsumer(settings(bootstrap, "g"))
    with pytest.raises(IllegalStateException):
        consumer.poll(0)
    consumer.close()
    with pytest.raises(IllegalStateException, match="closed"):
        consumer.poll(0)
