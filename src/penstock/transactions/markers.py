"""How the coordinator has markers written. `server` implements it: a single node appends them to its own
partitions, and a cluster sends WriteTxnMarkers to the leaders."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from penstock.protocol.topic_partition import TopicPartition


class Ending(NamedTuple):
    """A transaction whose end is decided and committed; its markers may be written as often as needed."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    commit: bool
    transaction_version: int
    partitions: frozenset[TopicPartition]


class Markers(Protocol):
    """Called without a lock, and it takes none of the coordinator's but through `done`."""

    def write(self, ending: Ending, done: Callable[[frozenset[TopicPartition]], None]) -> None:
        """Try once to write the marker to each partition, and call `done` with those that still want one:
        none when every partition has its marker or is gone. The coordinator asks again for the rest."""
        ...
