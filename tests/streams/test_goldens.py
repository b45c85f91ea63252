"""Every operator gives what Kafka Streams' own test driver gives: results in order, names of nodes,
internal topics.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from penstock.streams import TopologyTestDriver
from tests.golden.streams.topologies import ALL, build

GOLDEN = Path(__file__).parents[1] / "golden" / "streams"
SCENARIOS = json.loads((GOLDEN / "scenarios.json").read_text())
NAMES = [f"{topology} of {inputs}" for topology, inputs in SCENARIOS["scenarios"]]


@cache
def goldens() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GOLDEN / "goldens.json").read_text())
    return found


def replay(driver: TopologyTestDriver, inputs: list[list[Any]]) -> None:
    """Inputs of topics that the topology does not read are left out, as in `Goldens.java`."""
    for topic, *rest in inputs:
        if topic == "advance":
            driver.advance_wall_clock(rest[0])
        elif driver.reads(topic):
            key, value, timestamp, *headers = rest
            pairs = tuple((name, text.encode()) for name, text in (headers[0] if headers else {}).items())
            driver.pipe(topic, key, value, timestamp, pairs)


def rows(driver: TopologyTestDriver, topic: str) -> list[list[Any]]:
    found = []
    for raw in driver.read_raw(topic):
        key, value = (None if data is None else data.decode() for data in (raw.key, raw.value))
        row: list[Any] = [key, value, raw.timestamp]
        if raw.headers:
            row.append({name: (value or b"").decode() for name, value in raw.headers})
        found.append(row)
    return found


@pytest.mark.parametrize(("topology", "inputs"), SCENARIOS["scenarios"], ids=NAMES)
def test_a_topology_gives_what_kafka_streams_gives(topology: str, inputs: str) -> None:
    golden = goldens()[f"{topology} of {inputs}"]
    with TopologyTestDriver(build(topology), application_id="golden") as driver:
        replay(driver, SCENARIOS["inputs"][inputs])
        produced = sorted(driver.topics)
        results = {topic: rows(driver, topic) for topic in produced if not topic.startswith("golden-")}
    assert results == golden["topics"]
    assert [topic for topic in produced if topic.startswith("golden-")] == golden["internal"]


@pytest.mark.parametrize("topology", [*ALL, "topology by hand"])
def test_a_topology_is_described_as_kafka_streams_describes_it(topology: str) -> None:
    described = next(golden for name, golden in goldens().items() if name.startswith(f"{topology} of "))
    assert _without_class(build(topology).describe()) == _without_class(described["describe"])


def _without_class(text: str) -> str:
    """A Java lambda has no name that could be the same elsewhere."""
    return re.sub(r"extractor class: [^)]*\)", "extractor class)", text)


def test_every_topology_has_a_golden() -> None:
    assert {topology for topology, _ in SCENARIOS["scenarios"]} == {*ALL, "topology by hand"}
