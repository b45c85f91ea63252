"""What the console shows of brokers, groups and transactions: plain values, filled by a backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.client.admin import Partition
from penstock.client.metadata import GroupInfo, PartitionLag


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """One directory of one broker. `error` is empty while it works."""

    broker: int
    path: str
    used_bytes: int
    replicas: int
    total_bytes: int | None = None
    usable_bytes: int | None = None
    error: str = ""

    @property
    def full_percent(self) -> float | None:
        """How full its disk is, by whomever."""
        if not self.total_bytes or self.usable_bytes is None:
            return None
        return 100.0 * (self.total_bytes - self.usable_bytes) / self.total_bytes


@dataclass(frozen=True, slots=True)
class Disks:
    directories: tuple[LogDirectory, ...]
    sizes: Mapping[Partition, int]
    """Bytes of the largest replica of each partition."""

    def topic_sizes(self) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for (topic, _), size in self.sizes.items():
            sizes[topic] = sizes.get(topic, 0) + size
        return sizes


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    node_id: int
    voter: bool
    log_end_offset: int
    lag: int
    last_caught_up_ms: int | None


@dataclass(frozen=True, slots=True)
class Quorum:
    leader_id: int
    leader_epoch: int
    high_watermark: int
    replicas: tuple[QuorumReplica, ...]


@dataclass(frozen=True, slots=True)
class GroupsNow:
    """Every group, what each has committed, and where the partitions that they read end."""

    groups: tuple[GroupInfo, ...]
    committed: Mapping[str, Mapping[Partition, int]]
    ends: Mapping[Partition, int]

    def lags(self, group: GroupInfo) -> list[PartitionLag]:
        """On each partition that the group has committed and that still exists."""
        owners = {partition: member for member in group.members for partition in member.partitions}
        return [
            PartitionLag(*partition, offset, self.ends[partition], owners.get(partition))
            for partition, offset in sorted(self.committed.get(group.group_id, {}).items())
            if partition in self.ends
        ]


@dataclass(frozen=True, slots=True)
class Move:
    """One line of a reset: where a group is on a partition and where it would go on."""

    topic: str
    partition: int
    committed: int | None
    wanted: int
    end: int

    @property
    def skipped(self) -> int:
        """Records that the group will never read."""
        return max(0, self.wanted - self.committed) if self.committed is not None else 0

    @property
    def repeated(self) -> int:
        """Records that the group will read again."""
        return max(0, self.committed - self.wanted) if self.committed is not None else 0


@dataclass(frozen=True, slots=True)
class TransactionState:
    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    started_ms: int | None
    partitions: tuple[Partition, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class TopicProducer:
    """A producer that a partition remembers: idempotent ones only, until they have been idle for long."""

    partition: int
    producer_id: int
    producer_epoch: int
    last_timestamp_ms: int
    in_transaction: bool
    transactional_id: str = ""


@dataclass(frozen=True, slots=True)
class WrittenIn:
    """The batch that a record was written in: what the log itself says of its producer."""

    base_offset: int
    records: int
    size_bytes: int
    compression: str
    leader_epoch: int
    producer_id: int | None
    """None when the producer was not idempotent."""
    producer_epoch: int
    transactional: bool
    transactional_id: str = ""
    """Empty when none is known: ids that were not used for long are forgotten."""


@dataclass(frozen=True, slots=True)
class HangingTransaction:
    """Open in a partition, and no coordinator will ever end it."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int
    last_timestamp_ms: int
