"""Lanes keep apart what must not run side by side, long lanes begin first, and the list stays true."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.house.conftest import RunHouse
from tests.house.lanes import ALONE, LANES, Lanes, read_lanes
from tests.house.sources import ROOT, python_files, shown
from tests.house.time_budget import BUDGETS, read_budgets

STARTS_SPARK = ("pyspark", "tests.faults.pipeline_rig")

RECORDS_ITS_TIME = """
import os, time

def test_one(): note()
def test_two(): note()

def note():
    begun = time.monotonic()
    time.sleep(0.2)
    with open(os.environ["NOTES"], "a") as file:
        file.write(f"{__name__.split('.')[-1]} {begun} {time.monotonic()}\\n")
"""


def lanes_of_this_project() -> Lanes:
    return Lanes(read_lanes(ROOT / LANES), read_budgets(ROOT / BUDGETS))


def test_an_area_is_a_lane_unless_the_list_says_otherwise() -> None:
    lanes = Lanes({"spark": ["tests/a/*", "tests/b/test_x.py::*"]}, {})
    assert lanes.lane_of("tests/a/deep/test_y.py::test_it") == "spark"
    assert lanes.lane_of("tests/b/test_x.py::test_it[a]") == "spark"
    assert lanes.lane_of("tests/b/test_y.py::test_it") == "b"


def test_the_longest_lane_begins_first_and_what_runs_alone_comes_last() -> None:
    lanes = Lanes(
        {"spark": ["tests/a/*", "tests/b/*"], ALONE: ["tests/d/*"]}, {"a": 2, "b": 2, "c": 3, "d": 99}
    )
    assert sorted(["c", ALONE, "d", "spark"], key=lanes.rank) == ["spark", "c", "d", ALONE]


def test_every_pattern_still_means_something() -> None:
    files = [f"{shown(path)}::test_" for path in python_files(ROOT / "tests")]
    patterns = [pattern for patterns in read_lanes(ROOT / LANES).values() for pattern in patterns]
    assert [each for each in patterns if not any(fnmatchcase(file, each) for file in files)] == []


def test_whatever_starts_spark_is_in_its_lane() -> None:
    lanes = lanes_of_this_project()
    offences = [
        shown(path)
        for path in python_files(ROOT / "tests")
        if path.name.startswith("test_") and any(f"import {name}" in _imports(path) for name in STARTS_SPARK)
        if lanes.lane_of(f"{shown(path)}::test_") != "spark"
    ]
    assert not offences, "\n".join(["", *offences])


def test_only_one_lane_is_run_beside_another_and_nothing_beside_what_runs_alone(
    pytester: pytest.Pytester, run_house: RunHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTES", str(pytester.path / "notes"))
    for area in "abcd":
        folder = pytester.path / "tests" / area
        folder.mkdir(parents=True)
        (folder / f"test_{area}.py").write_text(RECORDS_ITS_TIME)
    (pytester.path / LANES).write_text('together = ["tests/a/*", "tests/b/*"]\nalone = ["tests/d/*"]\n')
    result = run_house("-n", "2")
    result.assert_outcomes(passed=8)
    result.stdout.fnmatch_lines(["*= seconds used per area =*", "a *", "*8 passed*"])
    lines = (pytester.path / "notes").read_text().splitlines()
    notes = [(name[-1], float(begun), float(ended)) for name, begun, ended in map(str.split, lines)]
    overlaps = {
        frozenset((first[0], second[0]))
        for first in notes
        for second in notes
        if first is not second and first[1] < second[2] and second[1] < first[2]
    }
    assert not any("d" in pair for pair in overlaps)
    assert frozenset("ab") not in overlaps
    assert frozenset("a") not in overlaps


def _imports(path: Path) -> str:
    return path.read_text().replace("from ", "import ")
