"""A partition by its name: the one type for it, from the log to the clients."""

from __future__ import annotations

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """Partition `partition` of topic `topic`, written `topic-partition`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
