"""A task's state can be taken as snapshot and deltas, and loaded: it goes on as if nothing had been."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.plan.raw_records import RawRecord, merged
from penstock.plan.task import Task
from penstock.streams import LongSerde, StreamsBuilder, StringSerde
from tests.golden.streams.topologies import build

SCENARIOS = json.loads((Path(__file__).parents[1] / "golden" / "streams" / "scenarios.json").read_text())
STATEFUL = [
    "aggregate",
    "hopping at close",
    "sliding with grace aggregate",
    "sessions with grace aggregate",
    "suppress for a time",
    "suppress few bytes",
    "tumbling with grace suppressed",
    "stream outer join with grace",
    "table left join by name",
    "versioned table join",
    "processor with windows",
]


def records() -> list[RawRecord]:
    offsets: dict[str, int] = {}
    found = []
    for topic, key, value, timestamp in SCENARIOS["inputs"]["two late topics"]:
        offset = offsets[topic] = offsets.get(topic, -1) + 1
        raw: list[Any] = [None if text is None else text.encode() for text in (key, value)]
        found.append(RawRecord(topic, 0, offset, timestamp, *raw))
    return found


@pytest.mark.parametrize("topology", STATEFUL)
def test_a_task_that_is_loaded_goes_on_as_the_one_that_was_saved(topology: str) -> None:
    plan = build(topology).plan
    readable = Task(plan, application_id="app")
    given = [record for record in records() if readable.reads(record.topic)]
    undisturbed = Task(plan, application_id="app")
    expected = [undisturbed.step([record]) for record in given]
    task = Task(plan, application_id="app")
    saved = [task.snapshot()]
    for at, record in enumerate(given):
        assert task.step([record]) == expected[at]
        saved.append(task.take_changes())
        if at % 7 == 3:
            if at % 2:
                saved = [task.snapshot()]
            task = Task(plan, application_id="app")
            task.load(saved)


def test_records_of_several_partitions_are_taken_by_their_time_and_never_out_of_a_partitions_order() -> None:
    times = {("a", 0): [5, 1, 9], ("a", 1): [4, 6], ("b", 0): [3]}
    given = [
        RawRecord(topic, partition, offset, time, None, None)
        for (topic, partition), partition_times in times.items()
        for offset, time in enumerate(partition_times)
    ]
    taken = [(record.topic, record.partition, record.timestamp) for record in merged(given)]
    assert taken == [("b", 0, 3), ("a", 1, 4), ("a", 0, 5), ("a", 0, 1), ("a", 1, 6), ("a", 0, 9)]


def test_they_are_taken_by_the_time_that_the_extractor_gives() -> None:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=LongSerde())
    builder.stream(["a", "b"], timestamp_extractor=lambda record, newest: record.value).to("out")
    task = Task(builder.build().plan, application_id="app")
    values = {"a": [5, 1, 9], "b": [3, 6]}
    given = [
        RawRecord(topic, 0, offset, -offset, None, LongSerde().serialize(topic, value))
        for topic, known in values.items()
        for offset, value in enumerate(known)
    ]
    assert [record.timestamp for record in task.step(given)] == [3, 5, 1, 6, 9]


def test_serdes_of_a_store_are_told_the_topic_of_its_changelog() -> None:
    told = set()

    class Telling(StringSerde):
        def serialize(self, topic: str, value: str) -> bytes:
            told.add(topic)
            return super().serialize(topic, value)

    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=Telling())
    builder.stream("a").group_by_key().reduce(lambda one, other: other, materialized="last")
    Task(builder.build().plan, application_id="app").step([RawRecord("a", 0, 0, 0, b"k", b"v")])
    assert told == {"app-last-changelog"}
