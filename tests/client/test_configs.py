"""Settings of topics, brokers and the cluster, asked and changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.client.admin import Admin
from penstock.client.configs import Alteration, Configs, Owner
from penstock.client.errors import InvalidValue, TopicNotFound


@pytest.fixture(scope="module")
def configs(admin: Admin) -> Configs:
    return Configs(admin)


def value_of(configs: Configs, owner: Owner, name: str) -> str | None:
    return next(entry.value for entry in configs.describe(owner) if entry.name == name)


def test_a_change_leaves_the_other_settings_alone(configs: Configs, new_topic: Callable[..., str]) -> None:
    topic = Owner.topic(new_topic(1, retention_ms="1000"))
    configs.alter(topic, [Alteration("max.message.bytes", "2000")])
    assert value_of(configs, topic, "max.message.bytes") == "2000"
    assert value_of(configs, topic, "retention.ms") == "1000"
    configs.alter(topic, [Alteration("retention.ms", None, "DELETE")])
    assert value_of(configs, topic, "retention.ms") == "604800000"


def test_a_change_that_is_only_validated_is_not_made(configs: Configs, new_topic: Callable[..., str]) -> None:
    topic = Owner.topic(new_topic())
    configs.alter(topic, [Alteration("retention.ms", "5")], validate_only=True)
    assert value_of(configs, topic, "retention.ms") == "604800000"


def test_settings_of_the_cluster_are_seen_at_each_broker(configs: Configs, admin: Admin) -> None:
    configs.alter(Owner.cluster(), [Alteration("log.cleaner.threads", "2")])
    assert value_of(configs, Owner.cluster(), "log.cleaner.threads") == "2"
    broker = Owner.broker(admin.cluster().brokers[0].node_id)
    assert value_of(configs, broker, "log.cleaner.threads") == "2"
    configs.alter(Owner.cluster(), [Alteration("log.cleaner.threads", None, "DELETE")])
    assert value_of(configs, broker, "log.cleaner.threads") == "1"


@pytest.mark.parametrize(
    "change", [Alteration("retention.ms", "x"), Alteration("retention.ms", "1", "MULTIPLY")]
)
def test_a_wrong_change_is_refused(
    configs: Configs, new_topic: Callable[..., str], change: Alteration
) -> None:
    with pytest.raises(InvalidValue):
        configs.alter(Owner.topic(new_topic()), [change])


def test_a_topic_that_is_not_there_is_named(configs: Configs) -> None:
    with pytest.raises(TopicNotFound, match="nonesuch"):
        configs.describe(Owner.topic("nonesuch"))
