"""How a plan is cut for Spark: sub-topologies in stages, one shuffle before each. Arithmetic on a plan, no
I/O.

What one sub-topology sends to another through a repartition topic goes through Spark's shuffle, inside one
micro-batch. A sub-topology runs once in a batch, in the first stage where all its input is there. Where
sub-topologies feed each other (joins by foreign key do), a sub-topology runs in several rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from penstock.kernels.processor import UserProcessor
from penstock.plan.groups import Subtopology, partition_counts, subtopologies
from penstock.plan.nodes import Node, Source
from penstock.plan.plan import Plan


@dataclass(frozen=True)
class SubtopologyRun:
    """A sub-topology that runs in a stage of a batch."""

    number: int
    """Counts all runs of the plan."""
    group: int
    """The number of the sub-topology."""
    round_number: int
    """Counts the runs of this sub-topology within a batch."""
    rounds: int
    """How many runs this sub-topology has in a batch."""
    shards: int
    """As many as the largest of its topics has partitions."""
    first_shard: int
    """The Spark partition of shard 0, among all shards of the stage."""
    sources: tuple[str, ...]
    """The nodes whose records this run takes."""
    keeps_state: bool


@dataclass(frozen=True)
class Stage:
    """Runs that need no results of each other; they run side by side."""

    runs: tuple[SubtopologyRun, ...]

    @property
    def shards(self) -> int:
        return sum(run.shards for run in self.runs)

    @property
    def keeps_state(self) -> bool:
        return any(run.keeps_state for run in self.runs)

    def run_of(self, shard: int) -> tuple[SubtopologyRun, int]:
        """The run that a Spark partition belongs to, and the number of its shard there."""
        found = next(run for run in self.runs if shard < run.first_shard + run.shards)
        return found, shard - found.first_shard


def stages(plan: Plan, topics: Mapping[str, int]) -> tuple[Stage, ...]:
    """The stages of a batch, given the partitions of the topics that are not internal."""
    groups = [group for group in subtopologies(plan) if not group.is_global]
    counts = {**topics, **partition_counts(plan, topics)}
    levels = _levels(plan, groups)
    found = []
    number = 0
    for level in sorted(set(levels.values())):
        runs: list[SubtopologyRun] = []
        for group in groups:
            sources = [node.name for node in group.nodes if levels.get(node.name) == level]
            if not sources:
                continue
            rounds = sorted({levels[node.name] for node in group.nodes if node.name in levels})
            run = SubtopologyRun(
                number,
                group.id,
                rounds.index(level),
                len(rounds),
                _shards(group, counts),
                sum(other.shards for other in runs),
                tuple(sources),
                keeps_state(group),
            )
            runs.append(run)
            number += 1
        found.append(Stage(tuple(runs)))
    return tuple(found)


def _shards(group: Subtopology, counts: Mapping[str, int]) -> int:
    return max(
        (count for topic, count in counts.items() if any(_reads(node, topic) for node in group.nodes)),
        default=1,
    )


def _reads(node: Node, topic: str) -> bool:
    return isinstance(node.operation, Source) and node.operation.reads(topic)


def keeps_state(group: Subtopology) -> bool:
    """Whether tasks must be kept from batch to batch. A processor may schedule punctuators, which are state
    too."""
    return any(node.stores or isinstance(node.operation, UserProcessor) for node in group.nodes)


def _levels(plan: Plan, groups: list[Subtopology]) -> dict[str, int]:
    """The stage of each source."""
    group_of = {node.name: group.id for group in groups for node in group.nodes}
    feeders = {
        node.name: _feeders(plan, node.operation)
        for group in groups
        for node in group.nodes
        if isinstance(node.operation, Source)
    }
    return _Levels(group_of, feeders).found()


class _Levels:
    """Stages of sources, given the sub-topology of each and the sources that feed it."""

    def __init__(self, group_of: Mapping[str, int], feeders: Mapping[str, tuple[str, ...]]) -> None:
        self._group_of, self._feeders = group_of, feeders
        self._reached = _reachable(group_of, feeders)
        self._delays: dict[int, int] = {}
        """Stages that the topics of a sub-topology wait for its other input."""

    def found(self) -> dict[str, int]:
        for group in sorted(self._reached):
            if self._circular(group):
                self._delay(group)
        return self._all()

    def _delay(self, group: int) -> None:
        """Take a sub-topology's own topics together with repartitioned records where that is possible, so
        that they are merged by time: a table must not run ahead of the stream that joins it."""
        own = [source for source in self._feeders if self._is_own(source, group)]
        others = [source for source in self._feeders if self._group_of[source] == group]
        before = [one for one in others if one not in own and not self._ancestors(one) & set(own)]
        if not own or not before:
            return
        levels = self._all()
        wanted = max(levels[one] for one in before)
        self._delays[group] = max(0, wanted - levels[own[0]])
        levels = self._all()
        if max(levels[one] for one in before) > wanted:  # these wait for each other: there is no such stage
            del self._delays[group]

    def _is_own(self, source: str, group: int) -> bool:
        inside = [one for one in self._feeders[source] if self._together(self._group_of[one], group)]
        return self._group_of[source] == group and not inside

    def _ancestors(self, source: str) -> set[str]:
        found: set[str] = set()
        waiting = list(self._feeders[source])
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self._feeders[name]
        return found

    def _together(self, one: int, other: int) -> bool:
        return one == other or (other in self._reached[one] and one in self._reached[other])

    def _circular(self, group: int) -> bool:
        return group in self._reached[group]

    def _all(self) -> dict[str, int]:
        @cache
        def base(group: int) -> int:
            """The first stage in which everything from outside is there for all that feed each other."""
            outside = [
                feeder
                for source, known in self._feeders.items()
                if self._together(self._group_of[source], group)
                for feeder in known
                if not self._together(self._group_of[feeder], group)
            ]
            return max((level(feeder) + 1 for feeder in outside), default=0)

        @cache
        def level(source: str) -> int:
            group = self._group_of[source]
            if not self._circular(group):
                return base(group)
            inside = [one for one in self._feeders[source] if self._together(self._group_of[one], group)]
            own = base(group) + self._delays.get(group, 0)
            return max((level(feeder) + 1 for feeder in inside), default=own)

        return {source: level(source) for source in self._feeders}


def _feeders(plan: Plan, source: Source) -> tuple[str, ...]:
    """The sources from which records come into the internal topics that this one reads."""
    internal = set(source.topics) & plan.internal_names
    waiting = [node.name for node, sink in plan.sinks if sink.topic in internal]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += plan.by_name[name].parents
    return tuple(name for name in sorted(seen) if isinstance(plan.by_name[name].operation, Source))


def _reachable(group_of: Mapping[str, int], feeders: Mapping[str, tuple[str, ...]]) -> dict[int, set[int]]:
    """Which sub-topologies get records, however indirectly, from each."""
    reached: dict[int, set[int]] = {group: set() for group in group_of.values()}
    for source, known in feeders.items():
        for feeder in known:
            reached[group_of[feeder]].add(group_of[source])
    for _ in reached:
        for further in reached.values():
            further |= {group for one in further for group in reached[one]}
    return reached
