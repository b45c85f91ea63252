"""Where to start and where to end: what the options say, and the offsets it means on a cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from penstock.protocol.topic_partition import TopicPartition
from penstock.wire import offsets
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.offsets import EARLIEST, LATEST


class PositionError(ValueError):
    """A position that cannot be had; the message says for which partition and what to write instead."""


@dataclass(frozen=True)
class Positions:
    """A place in each partition, said by an offset or by a time (`EARLIEST` and `LATEST` are times too)."""

    everywhere: int | None = None
    """The time for every partition that is not named; None when all must be named."""
    times: tuple[tuple[TopicPartition, int], ...] = ()
    fixed: tuple[tuple[TopicPartition, int], ...] = ()
    end_if_none: bool = False
    """A partition without a record at or after the time: its end, or an error."""

    @property
    def by_time(self) -> bool:
        """Whether partitions are named with a time of the clock."""
        return any(time >= 0 for _, time in self.times)

    @property
    def only_beginning(self) -> bool:
        return self.everywhere == EARLIEST or (bool(self.times) and all(t == EARLIEST for _, t in self.times))

    @property
    def only_end(self) -> bool:
        return self.everywhere == LATEST or (bool(self.times) and all(t == LATEST for _, t in self.times))

    def beyond(self, end: Positions) -> str | None:
        """Where this is after `end`, both said by offsets or both by times; None when nowhere."""
        if (
            self.everywhere is not None
            and end.everywhere is not None
            and self.everywhere > end.everywhere >= 0
        ):
            return "every partition"
        for ours, theirs in ((self.fixed, dict(end.fixed)), (self.times, dict(end.times))):
            for partition, place in ours:
                if place > theirs.get(partition, place) >= 0:
                    return str(partition)
        return None

    def resolve(
        self,
        cluster: Cluster,
        partitions: Collection[TopicPartition],
        deadline: Deadline,
        *,
        read_committed: bool = False,
        strict: bool = True,
    ) -> dict[TopicPartition, int]:
        """The offset in each of `partitions`. One that the log does not reach is refused, or, when not
        `strict`, moved to where the log begins or ends.
        """
        fixed, times = dict(self.fixed), dict(self.times)
        wanted = {}
        for partition in partitions:
            if partition in fixed:
                continue
            time = times.get(partition, self.everywhere)
            if time is None:
                known = "" if self.by_time else ", with -2 for its beginning and -1 for its end"
                raise PositionError(f"what is given leaves out {partition}: name every partition{known}")
            wanted[partition] = time
        unknown = (fixed.keys() | times.keys()) - set(partitions)
        if unknown:
            raise PositionError(f"offsets are given for {min(unknown)}, which is not among the topics read")
        named = {partition: fixed[partition] for partition in partitions if partition in fixed}
        found = _within(cluster, named, deadline, strict=strict)
        if wanted:
            found |= self._look_up(cluster, wanted, deadline, read_committed=read_committed)
        return found

    def _look_up(
        self,
        cluster: Cluster,
        wanted: Mapping[TopicPartition, int],
        deadline: Deadline,
        *,
        read_committed: bool,
    ) -> dict[TopicPartition, int]:
        found = offsets.at(cluster, wanted, deadline, read_committed=read_committed)
        missing = [partition for partition, offset in found.items() if offset is None]
        if missing and not self.end_if_none:
            raise PositionError(
                f"{missing[0]} has no record at or after {wanted[missing[0]]}: set "
                "startingOffsetsByTimestampStrategy to latest to begin at its end then"
            )
        if missing:
            found.update(offsets.latest(cluster, missing, deadline, read_committed=read_committed))
        return {partition: offset for partition, offset in found.items() if offset is not None}


def _within(
    cluster: Cluster, wanted: Mapping[TopicPartition, int], deadline: Deadline, *, strict: bool
) -> dict[TopicPartition, int]:
    if not wanted:
        return {}
    first = offsets.earliest(cluster, wanted.keys(), deadline)
    last = offsets.latest(cluster, wanted.keys(), deadline)
    for partition, offset in wanted.items():
        if strict and not first[partition] <= offset <= last[partition]:
            raise PositionError(
                f"offset {offset} is given for {partition}, whose log begins at {first[partition]} and ends "
                f"at {last[partition]}: name one between them, or set failOnDataLoss to false for the nearest"
            )
    return {
        partition: min(max(offset, first[partition]), last[partition]) for partition, offset in wanted.items()
    }


def beginning() -> Positions:
    return Positions(everywhere=EARLIEST)


def now() -> Positions:
    return Positions(everywhere=LATEST)


def from_offsets(given: Mapping[TopicPartition, int]) -> Positions:
    """Offsets as people write them, where -2 is the beginning and -1 the end."""
    for partition, offset in given.items():
        if offset < EARLIEST:
            raise PositionError(f"{offset} is no offset for {partition}: -2 is its beginning, -1 its end")
    return Positions(
        times=tuple((partition, offset) for partition, offset in given.items() if offset < 0),
        fixed=tuple((partition, offset) for partition, offset in given.items() if offset >= 0),
    )


def from_time(time_ms: int, end_if_none: bool) -> Positions:
    return Positions(everywhere=time_ms, end_if_none=end_if_none)


def from_times(given: Mapping[TopicPartition, int], end_if_none: bool) -> Positions:
    return Positions(times=tuple(given.items()), end_if_none=end_if_none)
