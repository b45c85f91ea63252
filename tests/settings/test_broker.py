"""Broker settings: defaults, topics' defaults among them, and what is warned of, accepted or refused."""

from __future__ import annotations

import logging
from dataclasses import fields
from pathlib import Path

import pytest

from penstock.settings import (
    BROKER_ID,
    BrokerSettings,
    Listener,
    SettingError,
    TopicSettings,
    broker_definitions,
    why_inert,
)
from penstock.settings.inert import INERT_SETTINGS
from penstock.settings.listeners import protected

KRAFT_SERVER_PROPERTIES = """
# As Kafka ships it, without its comments
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
controller.quorum.voters=1@localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
log.dirs=/var/lib/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
#log.flush.interval.messages=10000
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""

ZOOKEEPER_SERVER_PROPERTIES = """
broker.id=0
num.network.threads=3
num.io.threads=8
log.dir=/var/lib/kafka
zookeeper.connect=localhost:2181
zookeeper.connection.timeout.ms=18000
group.initial.rebalance.delay.ms=0
"""


def _load(texts: dict[str, str] | None = None) -> BrokerSettings:
    return BrokerSettings.load(None, texts or {}, {})


def test_the_defaults_are_those_of_kafka_4() -> None:
    settings = _load()
    assert settings == BrokerSettings()
    assert settings.num_partitions == 1
    assert settings.offsets_topic_num_partitions == 50
    assert settings.socket_request_max_bytes == 104_857_600
    assert settings.message_max_bytes == 1_048_588
    assert settings.connections_max_idle_ms == 600_000
    assert settings.auto_create_topics_enable is True
    assert settings.log_retention_check_interval_ms == 300_000
    assert settings.listeners == (Listener("PLAINTEXT", "", 9092),)
    assert settings.topic_defaults == TopicSettings()


def test_every_row_names_its_field_explains_itself_and_reads_its_default() -> None:
    names = {f.name for f in fields(BrokerSettings)} - {"topic_defaults", "given"}
    rows = broker_definitions()
    assert names <= {name.replace(".", "_") for name in rows}
    for name, row in rows.items():
        assert row.name == name
        assert row.doc.endswith(".")
        assert name not in INERT_SETTINGS, f"{name} has an effect and has none"
        if row.default_text is not None:
            assert row.parse(row.default_text) == row.default
        if name != BROKER_ID:  # it is what node.id is
            assert BrokerSettings().text(name) == row.default_text


@pytest.mark.parametrize(
    ("texts", "retention_ms"),
    [
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.minutes": "3", "log.retention.hours": "2"}, 180_000),
        ({"log.retention.ms": "4", "log.retention.minutes": "3", "log.retention.hours": "2"}, 4),
        ({"log.retention.ms": "-1"}, -1),
        ({"log.retention.hours": "-1"}, -1),
        ({}, 604_800_000),
    ],
)
def test_the_strongest_synonym_gives_topics_their_retention(texts: dict[str, str], retention_ms: int) -> None:
    assert _load(texts).topic_defaults.retention_ms == retention_ms


def test_each_topic_setting_takes_its_default_from_its_broker_setting() -> None:
    texts = {
        "log.segment.bytes": "4096",
        "log.roll.hours": "1",
        "log.flush.scheduler.interval.ms": "77",
        "message.max.bytes": "5000",
        "log.cleanup.policy": "delete,compact",
        "log.message.timestamp.type": "LogAppendTime",
        "log.cleaner.min.cleanable.ratio": "0.1",
        "min.insync.replicas": "2",
        "compression.type": "zstd",
    }
    settings = _load(texts)
    assert settings.topic_defaults == TopicSettings(
        segment_bytes=4096,
        segment_ms=3_600_000,
        flush_ms=77,
        max_message_bytes=5000,
        cleanup_policy=("delete", "compact"),
        message_timestamp_type="LogAppendTime",
        min_cleanable_dirty_ratio=0.1,
        min_insync_replicas=2,
        compression_type="zstd",
    )
    assert settings.log_flush_scheduler_interval_ms == 77
    assert settings.text("log.segment.bytes") == "4096"
    assert settings.text("log.roll.hours") == "1"
    assert settings.text("log.roll.ms") is None
    assert dict(settings.given) == texts


def test_a_retention_of_nothing_is_refused() -> None:
    with pytest.raises(SettingError, match=r"log\.retention\.hours must be unlimited"):
        _load({"log.retention.hours": "0"})


def test_the_file_that_kafka_ships_starts_the_broker(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "server.properties"
    path.write_text(KRAFT_SERVER_PROPERTIES)
    with caplog.at_level(logging.INFO):
        settings = BrokerSettings.load(str(path), {}, {})
    assert settings.log_dirs == ("/var/lib/kraft-combined-logs",)
    assert settings.client_listeners == (Listener("PLAINTEXT", "", 9092),)
    assert Listener("PLAINTEXT", "localhost", 9092) in settings.advertised_listeners
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "The setting num.io.threads has no effect" in caplog.text


def test_an_old_file_for_zookeeper_starts_the_broker(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "server.properties"
    path.write_text(ZOOKEEPER_SERVER_PROPERTIES)
    settings = BrokerSettings.load(str(path), {}, {})
    assert (settings.node_id, settings.log_dirs) == (0, ("/var/lib/kafka",))
    assert settings.group_initial_rebalance_delay_ms == 0
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_name_that_kafka_does_not_know_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    _load({"num.partition": "5"})
    assert "Unknown setting num.partition" in caplog.text


@pytest.mark.parametrize(
    "name", ["num.io.threads", "zookeeper.connect", "password.encoder.secret", "replica.lag.time.max.ms"]
)
def test_a_setting_without_meaning_here_has_a_reason(name: str) -> None:
    assert why_inert(name)


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        ({"num.partitions": "many"}, "num.partitions"),
        ({"num.partitions": "0"}, "num.partitions"),
        ({"listeners": "9092"}, "listeners"),
        ({"listeners": "PLAINTEXT://:99999"}, "listeners"),
        ({"listeners": "A://:1,A://:2"}, "listeners"),
        ({"listeners": ""}, "listeners"),
        ({"listeners": "MINE://:9093"}, "listeners"),
        ({"listeners": "INSIDE://:9093"}, "listeners"),
        ({"listener.security.protocol.map": "INSIDE:TLS"}, "listener.security.protocol.map"),
        ({"advertised.listeners": "OUTSIDE://host:1"}, "advertised.listeners"),
        ({"advertised.listeners": "PLAINTEXT://0.0.0.0:1"}, "advertised.listeners"),
        ({"log.dirs": " , "}, "log.dirs"),
        ({"process.roles": "controller"}, "controller.quorum.voters"),
        ({"controller.quorum.voters": "1@a"}, "controller.quorum.voters"),
        ({"controller.quorum.voters": "1@a:1,1@b:1"}, "controller.quorum.voters"),
        ({"controller.quorum.voters": "2@a:1,3@b:1"}, "controller.quorum.voters"),
        ({"controller.quorum.voters": "1@a:1", "process.roles": "broker"}, "controller.quorum.voters"),
        ({"controller.quorum.voters": "1@a:1,2@b:1"}, "controller.listener.names"),
        ({"controller.quorum.voters": "1@a:1,2@b:1", "controller.listener.names": "C"}, "listeners"),
        (
            {"controller.quorum.voters": "1@a:1", "inter.broker.listener.name": "OTHER"},
            "inter.broker.listener.name",
        ),
        ({"group.consumer.session.timeout.ms": "70000"}, "group.consumer.session.timeout.ms"),
        (
            {"authorizer.class.name": "com.example.MyAuthorizer"},
            "authorizer.class.name",
        ),
        ({"node.id": "-5"}, "node.id"),
    ],
)
def test_a_bad_value_is_an_error_that_names_setting_and_remedy(texts: dict[str, str], named: str) -> None:
    with pytest.raises(SettingError) as refused:
        _load(texts)
    assert refused.value.setting == named
    assert refused.value.allowed
    assert named in refused.value.explain() or "listener" in refused.value.explain()


def test_named_listeners_with_a_plaintext_protocol_are_served() -> None:
    settings = _load(
        {
            "listeners": "inside://[::1]:9093, outside://:0",
            "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
        }
    )
    assert settings.listeners == (Listener("INSIDE", "::1", 9093), Listener("OUTSIDE", "", 0))
    assert settings.text("listeners") == "INSIDE://[::1]:9093,OUTSIDE://:0"
    assert settings.listeners[1].is_wildcard


def test_a_listener_knows_its_security_protocol() -> None:
    given = {
        "listeners": "INSIDE://:9092,CONTROLLER://:9093",
        "listener.security.protocol.map": "INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
    }
    settings = _load(given)
    assert [listener.security_protocol for listener in settings.client_listeners] == ["PLAINTEXT"]
    protocols = (("INSIDE", "SASL_SSL"),)
    assert protected(settings.client_listeners, protocols)[0].security_protocol == "SASL_SSL"
