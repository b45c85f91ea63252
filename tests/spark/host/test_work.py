"""Shards of stages: however records are cut into batches, partitions and workers, tables end with the same
rows."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock.streams import TopologyTestDriver
from tests.golden.streams.topologies import ALL, build
from tests.spark.host.local_host import LocalHost
from tests.streams.test_batches import OF_TABLES, UNORDERED
from tests.streams.test_goldens import SCENARIOS, rows

FOREIGN = [name for name in ALL if name.startswith("foreign key")]
REPARTITIONED = [
    "stream outer join of new keys",
    "stream table left join of a new key",
    "windows of a new key",
]


def inputs(topology: str) -> list[list[Any]]:
    """In the order of their times: what is late depends on how many tasks there are."""
    given = SCENARIOS["inputs"]["many foreign rows" if topology in FOREIGN else "two late topics"]
    return [[topic, key, value, at] for at, (topic, key, value, *_) in enumerate(given) if key is not None]


def undisturbed(topology: str) -> dict[str, str]:
    with TopologyTestDriver(build(topology)) as driver:
        for record in inputs(topology):
            if driver.reads(record[0]):
                driver.pipe(*record)
        final = {key: value for key, value, *_ in rows(driver, "out")}
    return {key: value for key, value in final.items() if value is not None}


@pytest.mark.parametrize("partitions", [3, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("topology", [name for name in OF_TABLES if not name.endswith(UNORDERED)] + FOREIGN)
def test_a_table_ends_with_the_same_rows_whatever_is_lost_between_batches(
    topology: str, partitions: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chooser = Random(f"{topology} {partitions}")
    plan = build(topology).plan
    topics = {topic: partitions for topic in "abc" if any(source.reads(topic) for _, source in plan.sources)}
    host = LocalHost(build(topology), topics, tmp_path / "state", monkeypatch, every=chooser.random() < 0.5)
    given = [tuple(record) for record in inputs(topology) if record[0] in topics]
    while given:
        size = chooser.randrange(1, 25)
        host.batch(given[:size], chooser)
        given = given[size:]
        if chooser.random() < 0.5:
            host.forget(files=chooser.random() < 0.5)
    assert host.table("out") == undisturbed(topology)


@pytest.mark.parametrize("topology", REPARTITIONED)
def test_records_that_were_repartitioned_are_joined_once(
    topology: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one batch: all that is there is merged by time, as if it had been read so."""
    chooser = Random(topology)
    plan = build(topology).plan
    topics = {topic: 2 for topic in "ab" if any(source.reads(topic) for _, source in plan.sources)}
    host = LocalHost(build(topology), topics, tmp_path / "state", monkeypatch, every=True)
    host.batch([tuple(record) for record in inputs(topology) if record[0] in topics], chooser)
    assert host.table("out") == undisturbed(topology)
