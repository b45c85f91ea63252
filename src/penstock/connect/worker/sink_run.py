"""A sink that runs. A batch is a range of offsets of each partition; the offsets of its consumer group are
committed when the tasks have flushed."""

from __future__ import annotations

import json
import os
from typing import Final

from penstock.clock import SystemClock
from penstock.connect.api.sink import SinkConnector
from penstock.connect.errors import ConfigError
from penstock.connect.pipeline.sink_work import SinkBatch
from penstock.connect.transforms.java_regex import compiled
from penstock.connect.worker.runs import Job, Note, Run
from penstock.metrics.tracing import Tracing
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire import group_offsets, offsets
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline

OFFSETS_MAX: Final = 50_000
"""About as many offsets a task reads in one batch."""
LOOK_S: Final = 5.0
"""How often new topics and partitions are looked for."""
DEADLINE_S: Final = 60.0


class SinkRun(Run):
    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._connector: SinkConnector | None = None
        self._cluster = Cluster.of(job.settings.client)
        self._group = group_of(job.name, job.config)
        isolation = job.config.get("consumer.override.isolation.level", "read_committed")
        self._committed = isolation == "read_committed"
        self._reset = job.config.get("consumer.override.auto.offset.reset", "earliest")
        self._positions: dict[TopicPartition, int] = {}
        self._looked_at = 0.0

    def open(self) -> list[dict[str, str]]:
        if self._reset not in ("earliest", "latest"):
            raise ConfigError("consumer.override.auto.offset.reset", self._reset, "earliest or latest")
        made = self.job.plugin.connector(self.job.config)
        assert isinstance(made, SinkConnector)
        self._connector = made
        return made.task_configs(int(self.job.config.get("tasks.max") or 1))

    def step(self) -> bool:
        self._look()
        ranges = self._ranges()
        if not ranges:
            return False
        active = self.active()
        configs = []
        for number, config in active:
            own = {place: ranges[place] for place in ranges if self._task_of(place) == number}
            if own:
                configs.append((number, config, own))
        if not configs:
            return False
        batch = SinkBatch(
            self.job.name,
            self.job.plugin.name,
            self.job.settings.plugin_path,
            tuple(configs),
            self.job.settings.defaults,
            Tracing.asked(os.environ, f"connect-{self.job.name}"),
        )
        began = SystemClock.monotonic()
        notes = self.job.jobs.run(batch, read_committed=self._committed)
        self._told([json.loads(note) for note in notes], began)
        return True

    def forget(self) -> None:
        self._positions.clear()
        self._looked_at = 0.0

    def close(self) -> None:
        if self._connector is not None:
            self._connector.close()
        self._cluster.close()

    def _task_of(self, place: TopicPartition) -> int:
        return sorted(self._positions).index(place) % len(self.task_configs)

    def _partitions_of(self, task: int) -> int:
        return sum(self._task_of(place) == task for place in self._positions)

    def _look(self) -> None:
        """Find partitions that are new, and where to begin in them."""
        now = SystemClock.monotonic()
        if self._looked_at and now - self._looked_at < LOOK_S:
            return
        self._looked_at = now
        deadline = Deadline(DEADLINE_S)
        found = self._partitions(deadline)
        new = [place for place in found if place not in self._positions]
        if new:
            committed = group_offsets.committed(self._cluster, self._group, deadline)
            begin = offsets.earliest if self._reset == "earliest" else offsets.latest
            first = begin(self._cluster, [place for place in new if place not in committed], deadline)
            self._positions |= {p: committed[p].offset if p in committed else first[p] for p in new}
        for place in self._positions.keys() - set(found):
            del self._positions[place]

    def _partitions(self, deadline: Deadline) -> list[TopicPartition]:
        config = self.job.config
        pattern = config.get("topics.regex") or ""
        if pattern:
            wanted = compiled("topics.regex", pattern)
            topics = self._cluster.topics(None, deadline)
            topics = {n: t for n, t in topics.items() if wanted.fullmatch(n) and not t.internal}
        else:
            names = [each.strip() for each in config["topics"].split(",") if each.strip()]
            topics = self._cluster.topics(names, deadline)
        return [TopicPartition(name, number) for name, topic in topics.items() for number in topic.partitions]

    def _ranges(self) -> dict[TopicPartition, tuple[int, int]]:
        """What is there to read, a bounded share of each partition."""
        if not self._positions:
            return {}
        ends = offsets.latest(
            self._cluster, list(self._positions), Deadline(DEADLINE_S), read_committed=self._committed
        )
        behind = {place: at for place, at in self._positions.items() if ends.get(place, 0) > at}
        share = max(1, OFFSETS_MAX * len(self.task_configs) // max(1, len(behind)))
        return {place: (at, min(ends[place], at + share)) for place, at in behind.items()}

    def _told(self, notes: list[Note], began: float) -> None:
        done: dict[TopicPartition, int] = {}
        for note in notes:
            done |= {TopicPartition(topic, number): end for topic, number, end in note["ends"]}
            self.told_logs(note)
            self.told_result(note, SystemClock.monotonic() - began)
            self.counts[int(note["task"])].partitions = self._partitions_of(int(note["task"]))
        if done:
            group_offsets.commit(self._cluster, self._group, done, Deadline(DEADLINE_S))
            self._positions |= done
            self.job.reports.used(self.job.name, {place.topic: self._task_of(place) for place in done})


def group_of(name: str, config: dict[str, str]) -> str:
    """The consumer group of a sink, as Kafka names it."""
    return config.get("consumer.override.group.id") or f"connect-{name}"
