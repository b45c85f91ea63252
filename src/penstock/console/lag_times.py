"""How many seconds a group is behind: from when the end of a partition passed the group's offset. Pure.

The ends of partitions are seen every few seconds. Where the offset lies between two sights, the time between
them is divided evenly. An offset older than the first sight gives a lower bound, which says so.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple

from penstock.client.admin import Partition

SIGHTS_MAX = 64
"""Of one partition. When there are more, every second of the older half goes: the past gets coarser."""
PARTITIONS_MAX = 20_000
SPACING_S = 2.0


class Behind(NamedTuple):
    seconds: float
    exact: bool
    """False when it is at least so long."""


class LagTimes:
    def __init__(self) -> None:
        self._sights: dict[Partition, tuple[list[float], list[int]]] = {}
        """By partition: moments and ends, both ascending."""

    def see(self, ends: Mapping[Partition, int], at: float) -> None:
        for gone in self._sights.keys() - ends.keys():
            del self._sights[gone]
        for partition, end in ends.items():
            known = self._sights.get(partition)
            if known is None and len(self._sights) >= PARTITIONS_MAX:
                continue
            if known is None or end < known[1][-1]:  # new, or deleted and created again
                self._sights[partition] = ([at], [end])
            else:
                _add(*known, at, end)

    def behind(self, partition: Partition, committed: int, end: int, now: float) -> Behind | None:
        """None when the partition was never seen."""
        if committed >= end:
            return Behind(0.0, True)
        sights = self._sights.get(partition)
        if sights is None:
            return None
        moments, ends = sights
        after = bisect_right(ends, committed)
        if after == 0:
            return Behind(max(0.0, now - moments[0]), False)
        if after == len(ends):
            return Behind(max(0.0, now - moments[-1]), True)
        share = (committed - ends[after - 1]) / (ends[after] - ends[after - 1])
        passed = moments[after - 1] + share * (moments[after] - moments[after - 1])
        return Behind(max(0.0, now - passed), True)


def _add(moments: list[float], ends: list[int], at: float, end: int) -> None:
    """Of an end that stays, the last moment counts: later records came after it."""
    idle = len(ends) > 1 and ends[-1] == end and ends[-2] == end
    close = len(moments) > 1 and at - moments[-2] < SPACING_S
    if idle or close:
        moments[-1], ends[-1] = at, end
        return
    moments.append(at)
    ends.append(end)
    if len(moments) > SIGHTS_MAX:
        half = SIGHTS_MAX // 2
        moments[:half] = moments[:half:2]
        ends[:half] = ends[:half:2]
