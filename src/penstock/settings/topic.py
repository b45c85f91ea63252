"""Settings of one topic: every topic setting of Kafka 4, with its default and its meaning here.

`TopicSettings` is what the log, the cleaner and the handlers read. A topic's own overrides are kept as text
by the controller and laid over the broker's defaults with `TopicSettings.from_overrides`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from penstock.settings import kinds
from penstock.settings.definition import Definition, definitions_of, field_name, setting
from penstock.settings.errors import SettingError
from penstock.settings.kinds import BOOLEAN, LONG_MAX, THROTTLED_REPLICAS

DAY_MS = 24 * 60 * 60 * 1000
SMALLEST_SEGMENT_BYTES = 14
"""Kafka before 4.0 took segments from 14 bytes on, 4.x takes none below 1 MiB. The old bound stays, because
tutorials and tests that show rolling and compaction set it to a few kilobytes."""
GZIP_DEFAULT_LEVEL = -1
_COMPRESSION_TYPES = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
_NO_TIERED_STORAGE = (
    "Tiered Storage functionality is disabled in the broker. "
    "Topic cannot be configured with remote log storage."
)


def _topic_setting(name: str, kind: kinds.Kind, default: Any, doc: str, broker: tuple[str, ...] = ()) -> Any:
    """A row of the table below. All of them can be changed while the topic is in use."""
    return setting(name, kind, default, doc, dynamic=True, broker=broker)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """How one topic is stored and served. `TopicSettings()` has Kafka 4's defaults."""

    # fmt: off
    cleanup_policy: tuple[str, ...] = _topic_setting(
        "cleanup.policy", kinds.words("compact", "delete"), ("delete",),
        "What happens to old segments: delete them, compact them to the last value of each key, or both.",
        broker=("log.cleanup.policy",),
    )
    compression_gzip_level: int = _topic_setting(
        "compression.gzip.level", kinds.int_(1, 9, also=GZIP_DEFAULT_LEVEL), GZIP_DEFAULT_LEVEL,
        "Level used when compression.type is gzip; -1 leaves the choice to the library.",
        broker=("compression.gzip.level",),
    )
    compression_lz4_level: int = _topic_setting(
        "compression.lz4.level", kinds.int_(1, 17), 9, "Level used when compression.type is lz4.",
        broker=("compression.lz4.level",),
    )
    compression_type: str = _topic_setting(
        "compression.type", kinds.one_of(*_COMPRESSION_TYPES), "producer",
        "Codec in which batches are stored; producer keeps what the producer sent, byte for byte.",
        broker=("compression.type",),
    )
    compression_zstd_level: int = _topic_setting(
        "compression.zstd.level", kinds.int_(-131072, 22), 3, "Level used when compression.type is zstd.",
        broker=("compression.zstd.level",),
    )
    delete_retention_ms: int = _topic_setting(
        "delete.retention.ms", kinds.long(0), DAY_MS, "How long compaction keeps a tombstone.",
        broker=("log.cleaner.delete.retention.ms",),
    )
    file_delete_delay_ms: int = _topic_setting(
        "file.delete.delay.ms", kinds.long(0), 60_000,
        "Time between marking a file as deleted and removing it.",
        broker=("log.segment.delete.delay.ms",),
    )
    flush_messages: int = _topic_setting(
        "flush.messages", kinds.long(1), LONG_MAX,
        "Records after which the log is forced to disk; 1 is before each ack.",
        broker=("log.flush.interval.messages",),
    )
    flush_ms: int = _topic_setting(
        "flush.ms", kinds.long(0), LONG_MAX, "Time after which the log is forced to disk.",
        broker=("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    )
    follower_replication_throttled_replicas: tuple[str, ...] = _topic_setting(
        "follower.replication.throttled.replicas", THROTTLED_REPLICAS, (),
        "Replicas whose copying is throttled on the follower's side.",
    )
    index_interval_bytes: int = _topic_setting(
        "index.interval.bytes", kinds.int_(0), 4096, "Bytes of log between two entries of the offset index.",
        broker=("log.index.interval.bytes",),
    )
    leader_replication_throttled_replicas: tuple[str, ...] = _topic_setting(
        "leader.replication.throttled.replicas", THROTTLED_REPLICAS, (),
        "Replicas whose copying is throttled on the leader's side.",
    )
    local_retention_bytes: int = _topic_setting(
        "local.retention.bytes", kinds.long(-2), -2,
        "Belongs to tiered storage, which is not offered; no effect.",
        broker=("log.local.retention.bytes",),
    )
    local_retention_ms: int = _topic_setting(
        "local.retention.ms", kinds.long(-2), -2,
        "Belongs to tiered storage, which is not offered; no effect.",
        broker=("log.local.retention.ms",),
    )
    max_compaction_lag_ms: int = _topic_setting(
        "max.compaction.lag.ms", kinds.long(1), LONG_MAX, "Longest time a record may stay uncompacted.",
        broker=("log.cleaner.max.compaction.lag.ms",),
    )
    max_message_bytes: int = _topic_setting(
        "max.message.bytes", kinds.int_(0), 1_048_588, "Largest record batch accepted, after compression.",
        broker=("message.max.bytes",),
    )
    message_timestamp_after_max_ms: int = _topic_setting(
        "message.timestamp.after.max.ms", kinds.long(0), 3_600_000,
        "How far a record's timestamp may lie ahead of the broker's clock.",
        broker=("log.message.timestamp.after.max.ms",),
    )
    message_timestamp_before_max_ms: int = _topic_setting(
        "message.timestamp.before.max.ms", kinds.long(0), LONG_MAX,
        "How far a record's timestamp may lie behind the broker's clock.",
        broker=("log.message.timestamp.before.max.ms",),
    )
    message_timestamp_type: str = _topic_setting(
        "message.timestamp.type", kinds.one_of("CreateTime", "LogAppendTime"), "CreateTime",
        "Whose time a record carries: the producer's, or the broker's at append.",
        broker=("log.message.timestamp.type",),
    )
    min_cleanable_dirty_ratio: float = _topic_setting(
        "min.cleanable.dirty.ratio", kinds.double(0, 1), 0.5,
        "Share of uncompacted bytes from which compaction starts.",
        broker=("log.cleaner.min.cleanable.ratio",),
    )
    min_compaction_lag_ms: int = _topic_setting(
        "min.compaction.lag.ms", kinds.long(0), 0, "Shortest time a record stays uncompacted.",
        broker=("log.cleaner.min.compaction.lag.ms",),
    )
    min_insync_replicas: int = _topic_setting(
        "min.insync.replicas", kinds.int_(1), 1,
        "Replicas that must have a record before acks=all is answered.",
        broker=("min.insync.replicas",),
    )
    preallocate: bool = _topic_setting(
        "preallocate", BOOLEAN, False, "Reserve a new segment's space on disk in advance.",
        broker=("log.preallocate",),
    )
    remote_log_copy_disable: bool = _topic_setting(
        "remote.log.copy.disable", BOOLEAN, False,
        "Belongs to tiered storage, which is not offered; no effect.",
    )
    remote_log_delete_on_disable: bool = _topic_setting(
        "remote.log.delete.on.disable", BOOLEAN, False,
        "Belongs to tiered storage, which is not offered; no effect.",
    )
    remote_storage_enable: bool = _topic_setting(
        "remote.storage.enable", BOOLEAN, False, "Tiered storage is not offered: only false is accepted."
    )
    retention_bytes: int = _topic_setting(
        "retention.bytes", kinds.long(), -1,
        "Size of a partition from which its oldest segments go; -1 is no limit.",
        broker=("log.retention.bytes",),
    )
    retention_ms: int = _topic_setting(
        "retention.ms", kinds.long(-1), 7 * DAY_MS, "Age at which segments go; -1 keeps them for ever.",
        broker=("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    )
    segment_bytes: int = _topic_setting(
        "segment.bytes", kinds.int_(SMALLEST_SEGMENT_BYTES), 1_073_741_824,
        "Size at which a new segment is begun.",
        broker=("log.segment.bytes",),
    )
    segment_index_bytes: int = _topic_setting(
        "segment.index.bytes", kinds.int_(4), 10_485_760, "Largest size of an offset index file.",
        broker=("log.index.size.max.bytes",),
    )
    segment_jitter_ms: int = _topic_setting(
        "segment.jitter.ms", kinds.long(0), 0,
        "Random time taken off segment.ms so that not all logs roll at once.",
        broker=("log.roll.jitter.ms", "log.roll.jitter.hours"),
    )
    segment_ms: int = _topic_setting(
        "segment.ms", kinds.long(1), 7 * DAY_MS,
        "Age at which a new segment is begun even if the old one is not full.",
        broker=("log.roll.ms", "log.roll.hours"),
    )
    unclean_leader_election_enable: bool = _topic_setting(
        "unclean.leader.election.enable", BOOLEAN, False,
        "Let a replica that is not in sync lead when no other is left, at the price of lost records.",
        broker=("unclean.leader.election.enable",),
    )
    # fmt: on

    @staticmethod
    def from_overrides(overrides: Mapping[str, str], defaults: TopicSettings) -> TopicSettings:
        """The settings of a topic: its own overrides over the broker's defaults. Raises SettingError."""
        parsed: dict[str, Any] = {}
        for name, text in overrides.items():
            parsed[field_name(name)] = _definition(name, text).parse(text)
        settings = replace(defaults, **parsed)
        _check_together(settings)
        return settings

    def text(self, name: str) -> str | None:
        """The value of one setting in Kafka's text form."""
        return _definition(name, None).render(getattr(self, field_name(name)))


@cache
def topic_definitions() -> Mapping[str, Definition]:
    """Every topic setting by name, in alphabetical order."""
    return dict(sorted(definitions_of(TopicSettings).items()))


def validate_topic_overrides(overrides: Mapping[str, str], defaults: TopicSettings | None = None) -> None:
    """Raises SettingError, with Kafka's sentence, when a topic could not be given these settings."""
    TopicSettings.from_overrides(overrides, defaults or TopicSettings())


def _definition(name: str, value: str | None) -> Definition:
    found = topic_definitions().get(name)
    if found is None:
        message = f"Unknown topic config name: {name}"
        raise SettingError(message, setting=name, value=value, allowed="a topic setting of Kafka 4")
    return found


def _check_together(settings: TopicSettings) -> None:
    if settings.remote_storage_enable:
        raise SettingError(_NO_TIERED_STORAGE, setting="remote.storage.enable", value="true", allowed="false")
    low, high = settings.min_compaction_lag_ms, settings.max_compaction_lag_ms
    if low > high:
        message = (
            f"conflict topic config setting min.compaction.lag.ms ({low}) > max.compaction.lag.ms ({high})"
        )
        allowed = "at most max.compaction.lag.ms"
        raise SettingError(message, setting="min.compaction.lag.ms", value=str(low), allowed=allowed)
