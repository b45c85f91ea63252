"""Markers for transactions that end, written to the partitions of this node."""

from __future__ import annotations

from collections.abc import Callable

from penstock.groups.coordinator import GroupCoordinator
from penstock.replication.partitions import Partitions
from penstock.transactions.markers import Ending
from penstock.transactions.transaction import TopicPartition


class LocalMarkers:
    """Speaks `transactions.markers:Markers`."""

    def __init__(self, partitions: Partitions, groups: GroupCoordinator) -> None:
        self._partitions = partitions
        self._groups = groups

    def write(self, ending: Ending, done: Callable[[frozenset[TopicPartition]], None]) -> None:
        done(ending.partitions)  # partitions do not take markers yet
