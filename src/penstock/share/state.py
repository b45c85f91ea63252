"""What is kept of one partition for one share group, and which partition that is."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from enum import IntEnum
from typing import Final, NamedTuple

NO_OFFSET: Final = -1
"""The start offset of a partition that the group has not begun to read."""

NO_LEADER_EPOCH: Final = -1

NEXT_STATE_EPOCH: Final = -1
"""Asks for the epoch after the present one."""


class RecordState(IntEnum):
    """What became of a record; Kafka's numbers."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4

    @property
    def is_final(self) -> bool:
        """Whether the group is done with the record."""
        return self in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


class SharePartitionKey(NamedTuple):
    """A partition as one group sees it."""

    group_id: str
    topic_id: bytes
    partition: int

    def coordinator_key(self) -> str:
        """The name by which its coordinator is found: group, topic id in URL-safe base64, partition."""
        topic = urlsafe_b64encode(self.topic_id).decode().rstrip("=")
        return f"{self.group_id}:{topic}:{self.partition}"


class StateBatch(NamedTuple):
    """Records from `first_offset` to `last_offset`, both included, of which the same is known."""

    first_offset: int
    last_offset: int
    state: RecordState
    delivery_count: int


class PartitionState(NamedTuple):
    """What survives the partition's leader."""

    state_epoch: int = 0
    """Raised when the group's place is set anew. A write of an earlier epoch is refused."""
    leader_epoch: int = NO_LEADER_EPOCH
    """Of the leader that wrote or read last. A write of an earlier leader is refused."""
    start_offset: int = NO_OFFSET
    """Everything before it is done."""
    batches: tuple[StateBatch, ...] = ()
    """Records from the start offset on of which something is known, in order; others are available."""

    @property
    def completed(self) -> int:
        """Records from the start offset on that are done."""
        return sum(
            batch.last_offset - batch.first_offset + 1 for batch in self.batches if batch.state.is_final
        )
