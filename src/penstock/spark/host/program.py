"""What every task of an application must know: the plan cut into stages, names, and where state lies.

The driver makes a `Program` when the application starts and a `BatchAttempt` for each attempt at a batch, and
sends both to the workers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from penstock.metrics.tracing import Tracing
from penstock.plan.failures import OnFailure, fail_processing
from penstock.plan.groups import part, subtopologies
from penstock.plan.nodes import Source
from penstock.plan.plan import Plan
from penstock.plan.raw_records import OnBadRecord
from penstock.plan.task import OnExpressionFailure, ignore_failure
from penstock.protocol.topic_partition import TopicPartition
from penstock.security.client_settings import ClientSettings
from penstock.spark.host.stages import Stage, SubtopologyRun

CLIENT_ID: Final = "penstock-streams"


@dataclass(frozen=True)
class Program:
    """Fixed for one run of an application."""

    run_id: str
    plan: Plan
    application_id: str
    client: ClientSettings
    """How the cluster is reached."""
    state: Path
    stages: tuple[Stage, ...]
    partitions: Mapping[str, int]
    """The number of partitions of every input and repartition topic, by its name in the cluster."""
    global_partitions: tuple[TopicPartition, ...]
    """All partitions of the topics of global tables."""
    emit_every_update: bool
    on_bad_record: OnBadRecord
    on_failure: OnFailure = fail_processing
    on_expression_failure: OnExpressionFailure = ignore_failure
    tracing: Tracing | None = None
    """Where spans of records go; None unless traces were asked for."""
    computed: tuple[Source, ...] = ()
    """Sources behind which Spark computes expressions, as the topology has them (`expressions.py`)."""

    @cached_property
    def runs(self) -> tuple[SubtopologyRun, ...]:
        return tuple(run for stage in self.stages for run in stage.runs)

    @cached_property
    def _parts(self) -> dict[int, Plan]:
        return {group.id: part(self.plan, group) for group in subtopologies(self.plan)}

    def part(self, group: int) -> Plan:
        """The plan of one sub-topology."""
        return self._parts[group]

    @cached_property
    def internal(self) -> dict[str, SubtopologyRun]:
        """The run that takes the records of each repartition topic, by the topic's name in the cluster."""
        names = self.plan.internal_names
        return {
            self.plan.topic_name(topic, self.application_id): run
            for run in self.runs
            for source in run.sources
            for topic in self._topics_of(source)
            if topic in names
        }

    def run_of(self, topic: str) -> SubtopologyRun | None:
        """The run that takes the records of a topic; none if the application does not read it."""
        if topic in self.internal:
            return self.internal[topic]
        sources = self.plan.sources_by_name
        return next((r for r in self.runs if any(sources[name].reads(topic) for name in r.sources)), None)

    def reads(self, source: str) -> Callable[[str], bool]:
        """Whether a source reads a topic, which is named as in the cluster."""
        names = {self.plan.topic_name(topic, self.application_id): topic for topic in self._topics_of(source)}
        return lambda topic: self.plan.sources_by_name[source].reads(names.get(topic, topic))

    def _topics_of(self, source: str) -> tuple[str, ...]:
        return self.plan.sources_by_name[source].topics

    def directory(self, group: int, shard: int) -> Path:
        """Where the state of a task lies."""
        return self.state / f"{group}_{shard}"


@dataclass(frozen=True)
class BatchAttempt:
    """One attempt at one batch."""

    version: int
    """The version of the state that the batch makes: one more than the last that was committed."""
    token: str
    """Names this attempt; part of the names of the files that it writes."""
    tokens: Mapping[int, str]
    """The tokens of the committed attempts, by version."""
    now_ms: int
    """The wall clock when Spark planned the batch, so that every attempt sees the same time."""
    read_before: Mapping[TopicPartition, int]
    """The offsets at which the input of the batch begins."""
    global_ends: Mapping[TopicPartition, int]
    """The offsets up to which global tables are read."""

    def step(self, run: SubtopologyRun) -> int:
        """The number of the state that a run makes: it counts runs over all batches."""
        return self.version * run.rounds + run.round_number

    def token_of(self, step: int, rounds: int) -> str | None:
        version = step // rounds
        return self.token if version == self.version else self.tokens.get(version)
