"""What a cluster and its topics look like to a client: plain values, filled by `admin`, shown by the CLI and
the console.
"""

from __future__ import annotations

from dataclasses import dataclass

INTERNAL_NAMES = ("_schemas",)
INTERNAL_PREFIXES = ("__", "_confluent-ksql-")


def is_internal(topic: str) -> bool:
    """Topics that the platform keeps for itself: two leading underscores, the registry's and SQL's."""
    return topic.startswith(INTERNAL_PREFIXES) or topic in INTERNAL_NAMES


@dataclass(frozen=True, slots=True)
class BrokerInfo:
    node_id: int
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    cluster_id: str | None
    controller_id: int | None
    brokers: tuple[BrokerInfo, ...]
    topics: int
    partitions: int


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """One partition. Offsets are None until asked for, and when the partition has no leader to ask."""

    index: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    log_start_offset: int | None = None
    high_watermark: int | None = None

    @property
    def records(self) -> int | None:
        """Offsets between start and high watermark: an upper bound where compaction or markers left gaps."""
        if self.log_start_offset is None or self.high_watermark is None:
            return None
        return max(0, self.high_watermark - self.log_start_offset)


@dataclass(frozen=True, slots=True)
class TopicInfo:
    name: str
    partitions: tuple[PartitionInfo, ...]
    size_bytes: int | None = None

    @property
    def internal(self) -> bool:
        return is_internal(self.name)

    @property
    def records(self) -> int | None:
        """Sum over the partitions; None when any of them is unknown."""
        counts = [partition.records for partition in self.partitions]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    @property
    def end_offsets_sum(self) -> int | None:
        """Grows by one for each appended record and never shrinks with retention: what rates are computed
        from.
        """
        ends = [partition.high_watermark for partition in self.partitions]
        known = [end for end in ends if end is not None]
        return sum(known) if len(known) == len(ends) else None

    @property
    def replication_factor(self) -> int:
        return max((len(partition.replicas) for partition in self.partitions), default=0)


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    """Another place that gives a setting its value, weaker than the one before it."""

    name: str
    value: str | None
    source: str


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    name: str
    value: str | None
    is_default: bool
    is_sensitive: bool
    source: str
    is_read_only: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A consumer of a group, and the partitions that it has."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class GroupInfo:
    """A consumer group. `state` and `kind` are Kafka's words, such as STABLE and CLASSIC."""

    group_id: str
    state: str
    kind: str
    is_simple: bool
    assignor: str
    coordinator: int | None
    members: tuple[GroupMember, ...]


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """How far a group is behind the end of one partition; `member` reads it, if there is one."""

    topic: str
    partition: int
    committed_offset: int
    end_offset: int
    member: GroupMember | None = None
    first_unread_ms: int | None = None
    """The timestamp of the first record that was not read; none when nothing lags or nobody looked."""

    @property
    def lag(self) -> int:
        return max(0, self.end_offset - self.committed_offset)


@dataclass(frozen=True, slots=True)
class TopicDetail:
    info: TopicInfo
    configs: tuple[ConfigEntry, ...]

    def config(self, name: str) -> str | None:
        return next((entry.value for entry in self.configs if entry.name == name), None)
