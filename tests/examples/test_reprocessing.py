"""Two versions count the same events, each for itself."""

from __future__ import annotations

from typing import Any

from penstock.streams import TopologyTestDriver
from tests.examples.loading import load

reprocessing = load("reprocessing")
EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("/pricing", {"visitor": "v-1", "robot": False}),
    ("/pricing", {"visitor": "spider", "robot": True}),
    ("/pricing", {"visitor": "v-2"}),
    ("/", {"visitor": "spider", "robot": True}),
]


def counted(version: int) -> dict[str, int]:
    with TopologyTestDriver(reprocessing.topology(version), application_id=f"visits-v{version}") as driver:
        for at, (page, event) in enumerate(EVENTS):
            driver.pipe(reprocessing.EVENTS, page, event, timestamp=at)
        return {record.key: record.value for record in driver.read(reprocessing.output(version))}


def test_version_one_counts_every_view() -> None:
    assert counted(1) == {"/pricing": 3, "/": 1}


def test_version_two_leaves_out_robots() -> None:
    assert counted(2) == {"/pricing": 2}
