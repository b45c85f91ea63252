"""Groups as every page shows them: lag in records and in seconds. One `Feed` of it serves all clients."""

from __future__ import annotations

import time
from dataclasses import dataclass

from penstock.client.errors import GroupNotFound
from penstock.client.metadata import GroupInfo, PartitionLag
from penstock.console.backend import Backend
from penstock.console.cluster_values import GroupsNow
from penstock.console.feed import Feed
from penstock.console.lag_times import Behind, LagTimes

POLL_S = 3.0


@dataclass(frozen=True, slots=True)
class PartitionStats:
    lag: PartitionLag
    behind: Behind | None


@dataclass(frozen=True, slots=True)
class GroupStats:
    info: GroupInfo
    partitions: tuple[PartitionStats, ...]

    @property
    def lag(self) -> int:
        return sum(each.lag.lag for each in self.partitions)

    @property
    def behind(self) -> Behind | None:
        """Of the partition that is furthest behind in time."""
        known = [each.behind for each in self.partitions if each.behind is not None]
        return max(known, default=None)

    @property
    def topics(self) -> list[str]:
        return sorted({each.lag.topic for each in self.partitions})


@dataclass(frozen=True, slots=True)
class AllGroups:
    groups: tuple[GroupStats, ...]

    def group(self, group_id: str) -> GroupStats:
        found = next((each for each in self.groups if each.info.group_id == group_id), None)
        if found is None:
            raise GroupNotFound(group_id)
        return found

    def readers(self, topic: str) -> list[GroupStats]:
        return [each for each in self.groups if topic in each.topics]


def groups_feed(backend: Backend, interval_s: float = POLL_S) -> Feed[AllGroups]:
    times = LagTimes()

    async def fetch() -> AllGroups:
        now = await backend.groups()
        moment = time.time()
        times.see(now.ends, moment)
        return measured(now, times, moment)

    return Feed(fetch, interval_s)


def measured(now: GroupsNow, times: LagTimes, moment: float) -> AllGroups:
    return AllGroups(
        tuple(
            GroupStats(
                info,
                tuple(
                    PartitionStats(
                        lag,
                        times.behind(
                            (lag.topic, lag.partition), lag.committed_offset, lag.end_offset, moment
                        ),
                    )
                    for lag in now.lags(info)
                ),
            )
            for info in now.groups
        )
    )
