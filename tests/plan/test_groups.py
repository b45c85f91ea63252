"""Sub-topologies run apart, a task for each of their partitions, and tables end as those of one task."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path

import pytest

from penstock.plan.groups import part, partition_counts, subtopologies
from penstock.plan.plan import Plan
from penstock.plan.raw_records import Produced, RawRecord
from penstock.plan.task import Task
from penstock.wire.partitioner import partition_for_key
from tests.golden.streams.topologies import build

INPUTS = json.loads((Path(__file__).parents[1] / "golden" / "streams" / "scenarios.json").read_text())[
    "inputs"
]


class Cluster:
    """Topics in memory, and a task for each sub-topology and partition."""

    def __init__(self, plan: Plan, partitions: int) -> None:
        self._partitions = partitions
        counts = partition_counts(plan, dict.fromkeys("abc", partitions))
        assert set(counts.values()) <= {partitions}
        self._groups = [part(plan, group) for group in subtopologies(plan) if not group.is_global]
        self._tasks = [
            [Task(group, application_id="app") for _ in range(partitions)] for group in self._groups
        ]
        self._global = {topic for _, source in plan.sources if source.is_global for topic in source.topics}
        self._offset = 0
        self.results: list[Produced] = []

    def pipe(self, record: Produced) -> None:
        waiting = deque([record])
        while waiting:
            record = waiting.popleft()
            self.results.append(record)
            partition = 0 if record.key is None else partition_for_key(record.key, self._partitions)
            for tasks in self._tasks:
                if tasks[0].reads(record.topic):
                    for task in tasks if record.topic in self._global else [tasks[partition]]:
                        waiting += task.step([self._raw(record, partition)])

    def _raw(self, record: Produced, partition: int) -> RawRecord:
        self._offset += 1
        return RawRecord(record.topic, partition, self._offset, record.timestamp, record.key, record.value)

    def final_rows(self) -> dict[bytes | None, bytes]:
        rows = {result.key: result.value for result in self.results if result.topic == "out"}
        return {key: value for key, value in rows.items() if value is not None}


def run(topology: str, inputs: str, partitions: int) -> dict[bytes | None, bytes]:
    cluster = Cluster(build(topology).plan, partitions)
    for topic, *pair, timestamp in INPUTS[inputs]:
        key, value = (None if text is None else text.encode() for text in pair)
        cluster.pipe(Produced(topic, key, value, timestamp))
    return cluster.final_rows()


@pytest.mark.parametrize(
    ("topology", "inputs"),
    [
        ("count", "two topics"),
        ("group by", "two late topics"),
        ("named nodes", "two late topics"),
        ("cogroup", "two busy topics"),
        ("to table of a new key", "two topics"),
        ("table filter by name", "two topics"),
        ("table group count", "two busy topics"),
        ("table group of a count", "two busy topics"),
        ("stream table left join", "two busy topics"),
        ("stream table join of a new key", "two topics"),
        ("global table join", "two topics"),
        ("table join", "two busy topics"),
        ("table left join by name", "two busy topics"),
        ("table outer join", "two busy topics"),
        ("table join of three", "three topics"),
        ("foreign key join", "many foreign rows"),
        ("foreign key left join", "many foreign rows"),
    ],
)
def test_tables_do_not_depend_on_the_number_of_partitions(topology: str, inputs: str) -> None:
    whole = run(topology, inputs, 1)
    assert whole
    assert run(topology, inputs, 3) == whole


def test_a_sub_topology_ends_at_a_repartition_topic() -> None:
    plan = build("windows of a new key").plan
    first, second = subtopologies(plan)
    assert [store.name for store in part(plan, first).stores] == []
    assert [store.name for store in part(plan, second).stores] == ["counts"]
    assert not first.is_global
