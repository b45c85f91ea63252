"""Settings of topics, brokers and groups changed by request. Codes and sentences for topics and brokers are
those of Apache Kafka 4.2 for the same requests."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from penstock.protocol.apis import Api
from penstock.storage.log import Log
from tests.handlers.one_node import OneNode

SET, DELETE, APPEND, SUBTRACT = range(4)
TOPIC, BROKER, GROUP = 2, 4, 32


@pytest.fixture
def node() -> OneNode:
    node = OneNode({"log.retention.hours": "48"})
    node.create_topic("t")
    return node


def alter(
    node: OneNode, kind: int, name: str, *changes: tuple[str, int, str | None], validate_only: bool = False
) -> tuple[int, str | None]:
    configs = [
        {"name": key, "config_operation": operation, "value": value} for key, operation, value in changes
    ]
    resources = [{"resource_type": kind, "resource_name": name, "configs": configs}]
    answer = node.ask(Api.INCREMENTAL_ALTER_CONFIGS, 1, resources=resources, validate_only=validate_only)
    (result,) = answer.responses
    assert (result.resource_type, result.resource_name) == (kind, name)
    return int(result.error_code), result.error_message


def replace(
    node: OneNode, kind: int, name: str, *values: tuple[str, str | None], version: int = 2
) -> tuple[int, str | None]:
    configs = [{"name": key, "value": value} for key, value in values]
    resources = [{"resource_type": kind, "resource_name": name, "configs": configs}]
    (result,) = node.ask(Api.ALTER_CONFIGS, version, resources=resources, validate_only=False).responses
    return int(result.error_code), result.error_message


def described(node: OneNode, kind: int, name: str, *keys: str) -> dict[str, Any]:
    resources = [{"resource_type": kind, "resource_name": name, "configuration_keys": keys or None}]
    (result,) = node.ask(
        Api.DESCRIBE_CONFIGS, 4, resources=resources, include_synonyms=True, include_documentation=False
    ).results
    assert result.error_code == 0
    return {entry.name: entry for entry in result.configs}


def value(node: OneNode, kind: int, name: str, key: str) -> tuple[str | None, int]:
    entry = described(node, kind, name, key)[key]
    return entry.value, entry.config_source


def log_of(node: OneNode, topic: str = "t") -> Log:
    return node.broker.partitions.get(topic, 0).log


def test_a_topic_setting_reaches_the_log_and_survives_a_restart(node: OneNode) -> None:
    assert alter(node, TOPIC, "t", ("retention.ms", SET, "1000")) == (0, None)
    assert log_of(node).settings.retention_ms == 1000
    node.restart(killed=True)
    assert log_of(node).settings.retention_ms == 1000
    assert value(node, TOPIC, "t", "retention.ms") == ("1000", 1)
    assert alter(node, TOPIC, "t", ("retention.ms", DELETE, None)) == (0, None)
    assert log_of(node).settings.retention_ms == 48 * 3_600_000
    assert value(node, TOPIC, "t", "retention.ms") == ("172800000", 5)


def test_lists_grow_and_shrink_from_their_default(node: OneNode) -> None:
    assert alter(node, TOPIC, "t", ("cleanup.policy", APPEND, "compact")) == (0, None)
    assert log_of(node).settings.cleanup_policy == ("delete", "compact")
    assert alter(node, TOPIC, "t", ("cleanup.policy", SUBTRACT, "delete")) == (0, None)
    assert log_of(node).settings.cleanup_policy == ("compact",)


@pytest.mark.parametrize(
    ("start", "operation", "items", "end"),
    [
        ("delete,delete,compact", SUBTRACT, "delete", "delete,compact"),
        ("compact", APPEND, "delete,delete", "compact,delete"),
        ("compact", APPEND, ",", "compact"),
        ("compact", SUBTRACT, "", "compact"),
        ("compact", SUBTRACT, "compact", ""),
    ],
)
def test_lists_change_as_kafkas_do(node: OneNode, start: str, operation: int, items: str, end: str) -> None:
    assert alter(node, TOPIC, "t", ("cleanup.policy", SET, start)) == (0, None)
    assert alter(node, TOPIC, "t", ("cleanup.policy", operation, items)) == (0, None)
    assert value(node, TOPIC, "t", "cleanup.policy") == (end, 1)


def test_an_empty_item_cannot_be_appended(node: OneNode) -> None:
    answer = alter(node, TOPIC, "t", ("cleanup.policy", APPEND, ""))
    assert answer == (40, "Configuration 'cleanup.policy' values must not be empty.")


def test_the_clusters_min_isr_can_be_changed_and_neither_removed_nor_given_to_one_broker(
    node: OneNode,
) -> None:
    assert value(node, TOPIC, "t", "min.insync.replicas") == ("1", 3)
    assert alter(node, BROKER, "", ("min.insync.replicas", SET, "2")) == (0, None)
    assert value(node, TOPIC, "t", "min.insync.replicas") == ("2", 3)
    refusal = "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
    assert alter(node, BROKER, "", ("min.insync.replicas", DELETE, None)) == (40, refusal)
    refusal = "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
    assert alter(node, BROKER, "1", ("min.insync.replicas", SET, "1")) == (40, refusal)


def test_a_setting_without_effect_is_described_as_it_was_set(node: OneNode) -> None:
    assert value(node, BROKER, "1", "num.io.threads") == ("8", 5)
    assert alter(node, BROKER, "", ("num.io.threads", SET, "4")) == (0, None)
    assert value(node, BROKER, "1", "num.io.threads") == ("4", 3)
    assert alter(node, BROKER, "", ("num.io.threads", SET, "many"))[0] == 42


def test_the_broker_is_described_under_its_old_name_too(node: OneNode) -> None:
    assert value(node, BROKER, "1", "broker.id") == ("1", 4)
    refusal = "Cannot update these configs dynamically: Set(broker.id)"
    assert alter(node, BROKER, "1", ("broker.id", SET, "2")) == (42, refusal)


def test_validate_only_changes_nothing(node: OneNode) -> None:
    change = ("retention.ms", SET, "1000")
    assert alter(node, TOPIC, "t", change, validate_only=True) == (0, None)
    assert value(node, TOPIC, "t", "retention.ms")[0] == "172800000"
    bad = ("retention.ms", SET, "x")
    assert alter(node, TOPIC, "t", bad, validate_only=True)[0] == 40


INVALID_TOPIC_CHANGES = [
    ("t", ("retention.ms", SET, "abc"), 40,
     "Invalid value abc for configuration retention.ms: Not a number of type LONG"),
    ("t", ("nonsense", SET, "abc"), 40, "Unknown topic config name: nonsense"),
    ("t", ("retention.ms", SET, None), 42, "Null value not supported for : retention.ms"),
    ("t", ("retention.ms", APPEND, "5"), 40,
     "Can't APPEND to key retention.ms because its type is not LIST."),
    ("t", ("nonsense", SUBTRACT, "5"), 40, "Can't SUBTRACT to key nonsense because its type is not LIST."),
    ("t", ("cleanup.policy", SET, "foo"), 40,
     "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete"),
    ("t", ("remote.storage.enable", SET, "true"), 40, None),
    ("no-such", ("retention.ms", SET, "1"), 3, "The topic 'no-such' does not exist."),
    ("no-such", ("retention.ms", SET, "abc"), 40,
     "Invalid value abc for configuration retention.ms: Not a number of type LONG"),
    ("", ("retention.ms", SET, "1"), 42, "Default topic resources are not allowed."),
    ("a/b", ("retention.ms", SET, "1"), 17,
     "Topic name is invalid: 'a/b' contains one or more characters other than ASCII alphanumerics, '.', '_' "
     "and '-'"),
]  # fmt: skip


@pytest.mark.parametrize(("topic", "change", "code", "message"), INVALID_TOPIC_CHANGES)
def test_a_bad_change_of_a_topic_is_refused_with_kafkas_words(
    node: OneNode, topic: str, change: tuple[str, int, str | None], code: int, message: str | None
) -> None:
    found = alter(node, TOPIC, topic, change)
    assert found[0] == code
    assert message is None or found[1] == message


INVALID_BROKER_CHANGES = [
    ("1", ("log.dirs", SET, "x"), 42, "Cannot update these configs dynamically: Set(log.dirs)"),
    ("1", ("log.retention.hours", SET, "3"), 42,
     "Cannot update these configs dynamically: Set(log.retention.hours)"),
    ("", ("zookeeper.connect", SET, "x"), 42,
     "Cannot update these configs dynamically: Set(zookeeper.connect)"),
    ("2", ("log.cleaner.threads", SET, "2"), 42, "Unexpected broker id, expected 1, but received 2"),
    ("x", ("log.cleaner.threads", SET, "2"), 42, "Node id must be an integer, but it is: x"),
    ("1", ("log.cleaner.threads", SET, "x"), 42,
     "Invalid value x for configuration log.cleaner.threads: Not a number of type INT"),
    ("1", ("log.cleaner.threads", APPEND, "1"), 40,
     "Config value append is not allowed for config key: log.cleaner.threads"),
    ("1", ("max.connections", SET, "0"), 42, "Invalid max.connections 0"),
    ("1", ("log.cleaner.threads", 9, "1"), 42, "Unknown operations type 9"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "code", "message"), INVALID_BROKER_CHANGES)
def test_a_bad_change_of_a_broker_is_refused_with_kafkas_words(
    node: OneNode, name: str, change: tuple[str, int, str | None], code: int, message: str
) -> None:
    assert alter(node, BROKER, name, change) == (code, message)


def test_a_resource_or_a_name_that_appears_twice_is_refused(node: OneNode) -> None:
    change = {"name": "retention.ms", "config_operation": SET, "value": "5"}
    resource = {"resource_type": TOPIC, "resource_name": "t", "configs": [change]}
    answer = node.ask(Api.INCREMENTAL_ALTER_CONFIGS, 0, resources=[resource, resource], validate_only=False)
    assert [(int(result.error_code), result.error_message) for result in answer.responses] == [
        (42, "Each resource must appear at most once.")
    ] * 2
    twice = [("retention.ms", SET, "5"), ("retention.ms", DELETE, None)]
    assert alter(node, TOPIC, "t", *twice) == (42, "Error due to duplicate config keys")
    assert alter(node, 9, "1", ("kafka", SET, "INFO")) == (42, "Unknown resource type 9")


LOGGERS = 8


def test_levels_of_loggers_change_at_once_and_are_described(node: OneNode) -> None:
    logger = logging.getLogger("penstock.handlers.of_a_test")
    assert alter(node, LOGGERS, "1", (logger.name, SET, "TRACE")) == (0, None)
    assert logger.level == 5
    resource = {"resource_type": LOGGERS, "resource_name": "1", "configuration_keys": [logger.name]}
    told = node.ask(Api.DESCRIBE_CONFIGS, 4, resources=[resource], include_synonyms=True)
    (entry,) = told.results[0].configs
    assert (entry.name, entry.value, int(entry.config_source)) == (logger.name, "TRACE", 6)
    assert alter(node, LOGGERS, "1", (logger.name, DELETE, None)) == (0, None)
    assert logger.level == logging.NOTSET


@pytest.mark.parametrize(
    ("name", "change", "code", "message"),
    [
        ("2", ("root", SET, "INFO"), 42, "Unexpected node id. Expected 1, but received 2"),
        ("one", ("root", SET, "INFO"), 42, "Node id must be an integer, but it is: one"),
        ("1", ("no.such", SET, "INFO"), 40, "Logger no.such does not exist!"),
        ("1", ("root", DELETE, None), 42, "Removing the log level of the root logger is not allowed"),
        ("1", ("root", 2, "INFO"), 42, "APPEND operation is not allowed for the BROKER_LOGGER resource"),
    ],
)
def test_a_level_that_cannot_be_set_is_refused(
    node: OneNode, name: str, change: tuple[str, int, str | None], code: int, message: str
) -> None:
    before = logging.getLogger().level
    assert alter(node, LOGGERS, name, ("penstock", SET, "INFO"), change) == (code, message)
    assert logging.getLogger().level == before


def test_one_bad_resource_does_not_hold_up_the_others(node: OneNode) -> None:
    def resource(name: str) -> dict[str, Any]:
        change = {"name": "retention.ms", "config_operation": SET, "value": "5"}
        return {"resource_type": TOPIC, "resource_name": name, "configs": [change]}

    answer = node.ask(
        Api.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource("none"), resource("t")], validate_only=False
    )
    assert [int(result.error_code) for result in answer.responses] == [3, 0]
    assert log_of(node).settings.retention_ms == 5


def test_the_older_request_replaces_everything(node: OneNode) -> None:
    alter(node, TOPIC, "t", ("retention.ms", SET, "1000"), ("segment.ms", SET, "7000"))
    for version in (0, 1, 2):
        assert replace(node, TOPIC, "t", ("segment.ms", "8000"), version=version) == (0, None)
    assert value(node, TOPIC, "t", "retention.ms") == ("172800000", 5)
    assert value(node, TOPIC, "t", "segment.ms") == ("8000", 1)
    assert replace(node, TOPIC, "t", ("segment.ms", None)) == (
        42,
        "Null value not supported for : segment.ms",
    )
    assert replace(node, TOPIC, "t", ("x", "5")) == (40, "Unknown topic config name: x")
    assert replace(node, BROKER, "1", ("log.dirs", "5"))[0] == 42


def test_a_broker_setting_comes_from_the_strongest_source(node: OneNode) -> None:
    assert value(node, BROKER, "1", "log.retention.ms") == (None, 5)
    assert alter(node, BROKER, "", ("log.retention.ms", SET, "5000")) == (0, None)
    assert value(node, BROKER, "1", "log.retention.ms") == ("5000", 3)
    assert alter(node, BROKER, "1", ("log.retention.ms", SET, "7000")) == (0, None)
    entry = described(node, BROKER, "1", "log.retention.ms")["log.retention.ms"]
    assert (entry.value, entry.config_source, entry.read_only) == ("7000", 2, False)
    assert [(item.name, item.value, item.source) for item in entry.synonyms] == [
        ("log.retention.ms", "7000", 2),
        ("log.retention.ms", "5000", 3),
        ("log.retention.hours", "48", 4),
        ("log.retention.hours", "168", 5),
    ]
    assert alter(node, BROKER, "1", ("log.retention.ms", DELETE, None)) == (0, None)
    assert value(node, BROKER, "1", "log.retention.ms") == ("5000", 3)


def test_a_broker_setting_takes_effect_on_topics_that_say_nothing_else(node: OneNode) -> None:
    node.create_topic("own", **{"retention.ms": "11"})
    assert alter(node, BROKER, "", ("log.retention.ms", SET, "5000")) == (0, None)
    assert log_of(node).settings.retention_ms == 5000
    assert log_of(node, "own").settings.retention_ms == 11
    entry = described(node, TOPIC, "own", "retention.ms")["retention.ms"]
    assert [(item.name, item.value, item.source) for item in entry.synonyms] == [
        ("retention.ms", "11", 1),
        ("log.retention.ms", "5000", 3),
        ("log.retention.hours", "48", 4),
        ("log.retention.hours", "168", 5),
    ]
    node.create_topic("later")
    assert log_of(node, "later").settings.retention_ms == 5000
    node.restart(killed=True)
    assert log_of(node).settings.retention_ms == 5000
    assert node.broker.settings.topic_defaults.retention_ms == 5000


def test_a_setting_for_all_brokers_is_described_by_itself(node: OneNode) -> None:
    assert alter(node, BROKER, "", ("log.cleaner.threads", SET, "2"), ("foo.bar", SET, "secret")) == (0, None)
    entries = described(node, BROKER, "")
    assert entries.keys() == {"log.cleaner.threads", "foo.bar", "min.insync.replicas"}
    assert (entries["log.cleaner.threads"].value, entries["log.cleaner.threads"].config_source) == ("2", 3)
    unknown = entries["foo.bar"]
    assert (unknown.value, unknown.is_sensitive, unknown.config_source) == (None, True, 3)
    assert described(node, BROKER, "1", "foo.bar")["foo.bar"].value is None


def test_what_has_settings_is_listed(node: OneNode) -> None:
    def listed(version: int, **fields: Any) -> list[tuple[int, str]]:
        answer = node.ask(Api.LIST_CONFIG_RESOURCES, version, **fields)
        return [(getattr(item, "resource_type", 16), item.resource_name) for item in answer.config_resources]

    assert listed(0) == []
    assert listed(1, resource_types=(TOPIC,)) == [(TOPIC, "t")]
    assert listed(1, resource_types=()) == [(TOPIC, "t"), (BROKER, "1"), (8, "1")]
    assert node.ask(Api.LIST_CONFIG_RESOURCES, 1, resource_types=(77,)).error_code == 35


def test_a_group_has_settings_of_its_own_within_the_brokers_bounds(node: OneNode) -> None:
    session, heartbeat = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
    assert value(node, GROUP, "g", session) == ("45000", 5)
    assert alter(node, GROUP, "g", (session, SET, "50000"), (heartbeat, SET, "7000")) == (0, None)
    node.restart(killed=True)
    assert value(node, GROUP, "g", session) == ("50000", 8)
    answer = node.ask(Api.LIST_CONFIG_RESOURCES, 1, resource_types=(GROUP,))
    assert [item.resource_name for item in answer.config_resources] == ["g"]
    assert alter(node, GROUP, "g", (session, DELETE, None)) == (0, None)
    assert value(node, GROUP, "g", session) == ("45000", 5)


def test_the_coordinator_goes_by_the_settings_of_the_group(node: OneNode) -> None:
    assert alter(node, GROUP, "g", ("consumer.heartbeat.interval.ms", SET, "7000")) == (0, None)
    assert heartbeat_interval(node, "g") == 7000
    assert heartbeat_interval(node, "another") == 5000


def heartbeat_interval(node: OneNode, group: str) -> int:
    """What a member is told that joins."""
    node.ask(Api.FIND_COORDINATOR, 4, key_type=0, coordinator_keys=[group])
    while node.broker.groups.runtime.load_next():
        pass
    answer = node.ask(
        Api.CONSUMER_GROUP_HEARTBEAT,
        0,
        group_id=group,
        member_id="",
        member_epoch=0,
        instance_id=None,
        rack_id=None,
        rebalance_timeout=60_000,
        subscribed_topic_names=("t",),
        server_assignor=None,
        topic_partitions=(),
    )
    assert answer.error_code == 0, answer
    return round(answer.heartbeat_interval.total_seconds() * 1000)


INVALID_GROUP_CHANGES = [
    ("g", ("consumer.session.timeout.ms", SET, "1"), 40,
     "consumer.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms"),
    ("g", ("consumer.heartbeat.interval.ms", SET, "99999"), 40,
     "consumer.heartbeat.interval.ms must be less than or equal to group.consumer.max.heartbeat.interval.ms"),
    ("g", ("retention.ms", SET, "1"), 40, "Unknown group config name: retention.ms"),
    ("", ("consumer.session.timeout.ms", SET, "50000"), 42, "Default group resources are not allowed."),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "code", "message"), INVALID_GROUP_CHANGES)
def test_a_bad_change_of_a_group_is_refused(
    node: OneNode, name: str, change: tuple[str, int, str | None], code: int, message: str
) -> None:
    assert alter(node, GROUP, name, change) == (code, message)
