"""Every area of the tests has a budget of seconds; a run ends with a table of what each used.

An area is the first folder under `tests/`. Machines are noisy, so only CI fails, and only beyond `TOLERANCE`
times the budget. Long forms have no budget. What all areas share (Spark, other people's servers) is torn down
behind the last test of a worker, whichever area that is in: this is charged to none.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Generator, Mapping
from pathlib import Path, PurePosixPath

import pytest

from tests.house.forms import in_ci

BUDGETS = Path("tests/time_budget.toml")
TOLERANCE = 3
ENDS_RUN = "ends the run of its worker"


class TimeBudget:
    def __init__(self, budgets: Mapping[str, float], *, binding: bool) -> None:
        self._budgets = budgets
        self._binding = binding
        self._used: defaultdict[str, float] = defaultdict(float)  # seconds, setup and teardown included

        self._is_last = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, nextitem: pytest.Item | None) -> Generator[None, object, object]:
        self._is_last = nextitem is None
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown" and self._is_last:
            report.user_properties.append((ENDS_RUN, True))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if any(name == ENDS_RUN for name, _ in report.user_properties):
            return
        self._used[area_of(report.nodeid)] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._binding and self._exceeded() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._used:
            return
        terminalreporter.section("seconds used per area")
        for area, used in sorted(self._used.items()):
            budget = self._budgets.get(area)
            terminalreporter.line(_row(area, used, budget), red=budget is not None and used > budget)
        if self._binding and self._exceeded():
            areas = ", ".join(self._exceeded())
            terminalreporter.line(f"failed: more than {TOLERANCE} times the budget in {areas}", red=True)

    def _exceeded(self) -> list[str]:
        return [
            area
            for area, used in sorted(self._used.items())
            if used > TOLERANCE * self._budgets.get(area, used)
        ]


def pytest_configure(config: pytest.Config) -> None:
    budgets = {} if config.getoption("--long") else read_budgets(config.rootpath / BUDGETS)
    config.pluginmanager.register(TimeBudget(budgets, binding=in_ci()), "penstock-time-budget")


def read_budgets(path: Path) -> dict[str, float]:
    return tomllib.loads(path.read_text()) if path.exists() else {}


def area_of(node_id: str) -> str:
    folders = PurePosixPath(node_id.partition("::")[0]).parts[1:-1]
    return folders[0] if folders else "tests"


def _row(area: str, used: float, budget: float | None) -> str:
    if budget is None:
        return f"{area:<14}{used:8.1f}"
    return f"{area:<14}{used:8.1f} of {budget:g}" + (", over budget" if used > budget else "")
