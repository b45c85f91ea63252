"""Where a group shall begin to read again: what the options of a reset mean in offsets. Arithmetic only;
`groups` asks the cluster. Called by the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.client.admin import Partition


@dataclass(frozen=True)
class Places:
    """What is known of the partitions."""

    first: Mapping[Partition, int]
    end: Mapping[Partition, int]
    committed: Mapping[Partition, int]
    at_time: Mapping[Partition, int]
    """First offset at or after the time that was asked for; a partition without one is left out."""


@dataclass(frozen=True)
class Target:
    """One of these, else the beginning."""

    latest: bool = False
    timestamp_ms: int | None = None
    offset: int | None = None
    shift_by: int | None = None

    def offsets(self, places: Places) -> dict[Partition, int]:
        """An offset for each partition, moved into the log where it would lie outside."""
        return {
            at: min(max(self._wanted(at, places), first), places.end[at])
            for at, first in places.first.items()
        }

    def _wanted(self, at: Partition, places: Places) -> int:
        if self.latest:
            return places.end[at]
        if self.timestamp_ms is not None:
            return places.at_time.get(at, places.end[at])
        if self.offset is not None:
            return self.offset
        if self.shift_by is not None:
            return places.committed.get(at, places.first[at]) + self.shift_by
        return places.first[at]
