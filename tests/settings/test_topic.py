"""Topic settings: Kafka 4's defaults, overrides, and the sentences for what is refused."""

from __future__ import annotations

from dataclasses import fields

import pytest

from penstock.settings import (
    SettingError,
    SettingType,
    TopicSettings,
    topic_definitions,
    validate_topic_overrides,
)


def test_the_defaults_are_those_of_kafka_4() -> None:
    texts = {name: TopicSettings().text(name) for name in topic_definitions()}
    assert texts == {
        "cleanup.policy": "delete",
        "compression.gzip.level": "-1",
        "compression.lz4.level": "9",
        "compression.type": "producer",
        "compression.zstd.level": "3",
        "delete.retention.ms": "86400000",
        "file.delete.delay.ms": "60000",
        "flush.messages": "9223372036854775807",
        "flush.ms": "9223372036854775807",
        "follower.replication.throttled.replicas": "",
        "index.interval.bytes": "4096",
        "leader.replication.throttled.replicas": "",
        "local.retention.bytes": "-2",
        "local.retention.ms": "-2",
        "max.compaction.lag.ms": "9223372036854775807",
        "max.message.bytes": "1048588",
        "message.timestamp.after.max.ms": "3600000",
        "message.timestamp.before.max.ms": "9223372036854775807",
        "message.timestamp.type": "CreateTime",
        "min.cleanable.dirty.ratio": "0.5",
        "min.compaction.lag.ms": "0",
        "min.insync.replicas": "1",
        "preallocate": "false",
        "remote.log.copy.disable": "false",
        "remote.log.delete.on.disable": "false",
        "remote.storage.enable": "false",
        "retention.bytes": "-1",
        "retention.ms": "604800000",
        "segment.bytes": "1073741824",
        "segment.index.bytes": "10485760",
        "segment.jitter.ms": "0",
        "segment.ms": "604800000",
        "unclean.leader.election.enable": "false",
    }


def test_every_field_has_a_row_of_its_name_whose_default_is_the_fields() -> None:
    rows = topic_definitions()
    assert sorted(name.replace(".", "_") for name in rows) == sorted(f.name for f in fields(TopicSettings))
    for name, row in rows.items():
        assert getattr(TopicSettings(), name.replace(".", "_")) == row.default
        assert row.default_text is not None
        assert row.parse(row.default_text) == row.default
        assert row.doc.endswith(".")
        assert not row.read_only


def test_types_are_those_that_describe_configs_sends() -> None:
    rows = topic_definitions()
    assert rows["segment.bytes"].type is SettingType.INT
    assert rows["retention.ms"].type is SettingType.LONG
    assert rows["cleanup.policy"].type is SettingType.LIST
    assert rows["min.cleanable.dirty.ratio"].type is SettingType.DOUBLE
    assert rows["retention.ms"].synonyms == (
        "log.retention.ms",
        "log.retention.minutes",
        "log.retention.hours",
    )


def test_overrides_lie_over_the_brokers_defaults() -> None:
    defaults = TopicSettings(retention_ms=5, segment_bytes=4096)
    settings = TopicSettings.from_overrides(
        {"retention.ms": " 7 ", "cleanup.policy": "compact,delete"}, defaults
    )
    assert settings.retention_ms == 7
    assert settings.segment_bytes == 4096
    assert settings.cleanup_policy == ("compact", "delete")


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        ({"retention.msec": "1"}, "Unknown topic config name: retention.msec"),
        (
            {"retention.ms": "soon"},
            "Invalid value soon for configuration retention.ms: Not a number of type LONG",
        ),
        (
            {"retention.ms": "-2"},
            "Invalid value -2 for configuration retention.ms: Value must be at least -1",
        ),
        (
            {"cleanup.policy": "shred"},
            "Invalid value shred for configuration cleanup.policy: String must be one of: compact, delete",
        ),
        (
            {"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8"},
            "conflict topic config setting min.compaction.lag.ms (9) > max.compaction.lag.ms (8)",
        ),
        (
            {"remote.storage.enable": "true"},
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote "
            "log storage.",
        ),
    ],
)
def test_what_a_topic_cannot_have_is_refused_in_kafkas_words(
    overrides: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SettingError) as refused:
        validate_topic_overrides(overrides)
    assert str(refused.value) == sentence


def test_settings_that_kafka_4_has_retired_are_unknown() -> None:
    for name in ("message.format.version", "message.downconversion.enable"):
        with pytest.raises(SettingError, match="Unknown topic config name"):
            validate_topic_overrides({name: "3.0"})
