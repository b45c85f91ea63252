"""Tests side by side: `pytest -n 2` runs lanes of tests on two workers, and this file decides the lanes.

A lane is what one worker runs in one go. An area is a lane, unless `tests/lanes.toml` says otherwise: tests
that need Spark are one lane, so there is never more than one Spark. Long lanes begin first. The tests of the
lane `alone` measure time; they run last, and no other test runs meanwhile. A run without `-n` has no lanes.
"""

from __future__ import annotations

import fcntl
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.house.time_budget import BUDGETS, area_of, read_budgets

LANES = Path("tests/lanes.toml")
ALONE = "alone"
ROOM = "penstock_room"
"""The key under which a worker is told where the locks lie."""


class Lanes:
    """Which lane each test is in, and which lanes begin first."""

    def __init__(self, patterns: Mapping[str, list[str]], budgets: Mapping[str, float]) -> None:
        self._patterns = patterns
        self._budgets = budgets

    def lane_of(self, node_id: str) -> str:
        for lane, patterns in self._patterns.items():
            if any(fnmatchcase(node_id, pattern) for pattern in patterns):
                return lane
        return area_of(node_id)

    def rank(self, lane: str) -> tuple[bool, float]:
        """Sorts lanes: the one with most seconds first, the tests that run alone last."""
        return lane == ALONE, -self.seconds(lane)

    def seconds(self, lane: str) -> float:
        """The budgets of all areas that belong to this lane as a whole."""
        areas = [area for area in self._budgets if self.lane_of(f"tests/{area}/test_.py::test_") == lane]
        return sum(self._budgets[area] for area in areas)


class LaneScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Gives whole lanes to workers, in the order in which the workers sorted them."""

    def __init__(self, config: pytest.Config, log: Any, lanes: Lanes) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)
        self._lanes = lanes

    def _split_scope(self, nodeid: str) -> str:
        return self._lanes.lane_of(nodeid)


class Room:
    """Locks between workers: any number of tests share the room, or one has it alone.

    Each test passes the gate to get in. A test that wants the room alone keeps the gate while it waits until
    the room is empty, so others cannot overtake it.
    """

    def __init__(self, folder: Path) -> None:
        self._gate = (folder / "gate").open("w")
        self._room = (folder / "room").open("w")

    @contextmanager
    def entered(self, *, alone: bool) -> Iterator[None]:
        with _locked(self._gate, fcntl.LOCK_EX):
            fcntl.flock(self._room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        try:
            yield
        finally:
            fcntl.flock(self._room, fcntl.LOCK_UN)

    def close(self) -> None:
        self._gate.close()
        self._room.close()


class OnController:
    """What the process that gives out the tests does."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self._folder = tempfile.mkdtemp(prefix="penstock-tests-")

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[ROOM] = self._folder

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> LaneScheduling:
        return LaneScheduling(config, log, self._lanes)

    def pytest_unconfigure(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


class OnWorker:
    """What each worker does: sort the tests by lane, and enter the room for each."""

    def __init__(self, lanes: Lanes, room: Room) -> None:
        self._lanes = lanes
        self._room = room

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: self._lanes.rank(self._lanes.lane_of(item.nodeid)))

    @pytest.hookimpl(wrapper=True, tryfirst=True)  # outermost: a test's timeout begins when it is in
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        with self._room.entered(alone=self._lanes.lane_of(item.nodeid) == ALONE):
            return (yield)

    def pytest_unconfigure(self) -> None:
        self._room.close()


def pytest_configure(config: pytest.Config) -> None:
    lanes = Lanes(read_lanes(config.rootpath / LANES), read_budgets(config.rootpath / BUDGETS))
    told: dict[str, Any] | None = getattr(config, "workerinput", None)
    if told is not None:
        config.pluginmanager.register(OnWorker(lanes, Room(Path(told[ROOM]))), "penstock-lanes")
    elif config.getoption("numprocesses", default=None):
        config.pluginmanager.register(OnController(lanes), "penstock-lanes")


def read_lanes(path: Path) -> dict[str, list[str]]:
    return tomllib.loads(path.read_text()) if path.exists() else {}


@contextmanager
def _locked(file: Any, how: int) -> Iterator[None]:
    fcntl.flock(file, how)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
