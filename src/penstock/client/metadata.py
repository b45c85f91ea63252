"""What a cluster and its topics look like to a client: plain values, filled by `admin`, shown by the CLI and
the console.
"""

from __future__ import annotations

from dataclasses import dataclass

INTERNAL_NAMES = ("_schemas",)


def is_internal(topic: str) -> bool:
    """Topics that the platform keeps for itself: two leading underscores, and the registry's."""
    return topic.startswith("__") or topic in INTERNAL_NAMES


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
class ConfigEntry:
    name: str
    value: str | None
    is_default: bool
    is_sensitive: bool
    source: str


@dataclass(frozen=True, slots=True)
class TopicDetail:
    info: TopicInfo
    configs: tuple[ConfigEntry, ...]

    def config(self, name: str) -> str | None:
        return next((entry.value for entry in self.configs if entry.name == name), None)
