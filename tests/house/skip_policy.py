"""A skipped test is named with its reason at the end of every run; in CI only agreed skips are forgiven.

`tests/allowed_skips.txt` holds the agreed ones: a comment that says why, then lines `node id | reason`, with
shell wildcards in both. Under xdist a worker sends the reports of its tests to the controller by itself, but
not of modules that skip themselves while they are collected: the policy sends those.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.house.forms import in_ci

LIST = Path("tests/allowed_skips.txt")
SKIPPED_MODULES = "penstock_skipped_modules"
"""The key under which a worker sends them."""


class Skip(NamedTuple):
    node_id: str
    reason: str


class SkipPolicy:
    def __init__(self, allowed: list[Skip], *, binding: bool) -> None:
        self._allowed = allowed
        self._binding = binding
        self._skips: list[Skip] = []
        self._modules: list[Skip] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self._skips.append(_skip(report))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._add_module(_skip(report))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker has ended. One that crashed has sent nothing; its successor collects the same."""
        for node_id, reason in getattr(node, "workeroutput", {}).get(SKIPPED_MODULES, ()):
            self._add_module(Skip(node_id, reason))

    def _add_module(self, skip: Skip) -> None:
        if skip not in self._modules:
            self._modules.append(skip)
            self._skips.append(skip)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        sent: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if sent is not None:
            sent[SKIPPED_MODULES] = [tuple(skip) for skip in self._modules]
        if self._refused() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._skips:
            return
        terminalreporter.section("skipped tests")
        for skip in self._skips:
            terminalreporter.line(f"{skip.node_id} | {skip.reason}")
        refused = self._refused()
        if refused:
            terminalreporter.line(f"refused in CI, because {LIST} does not list them:", red=True)
            for skip in refused:
                terminalreporter.line(f"  {skip.node_id} | {skip.reason}", red=True)

    def _refused(self) -> list[Skip]:
        return [skip for skip in self._skips if self._binding and not self._is_allowed(skip)]

    def _is_allowed(self, skip: Skip) -> bool:
        return any(
            fnmatchcase(skip.node_id, allowed.node_id) and fnmatchcase(skip.reason, allowed.reason)
            for allowed in self._allowed
        )


def pytest_configure(config: pytest.Config) -> None:
    allowed = read_allowed(config.rootpath / LIST)
    config.pluginmanager.register(SkipPolicy(allowed, binding=in_ci()), "penstock-skip-policy")


def read_allowed(path: Path) -> list[Skip]:
    """The patterns of the list; one without a reason, or without a comment that explains it, is an error."""
    allowed: list[Skip] = []
    explained = False
    for line in path.read_text().splitlines() if path.exists() else []:
        if not line.strip():
            explained = False
        elif line.startswith("#"):
            explained = True
        else:
            node_id, separator, reason = line.partition(" | ")
            if not separator or not explained:
                raise pytest.UsageError(
                    f"{path.name}: {line!r} needs a reason after ' | ' and a comment above"
                )
            allowed.append(Skip(node_id.strip(), reason.strip()))
    return allowed


def _skip(report: pytest.TestReport | pytest.CollectReport) -> Skip:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return Skip(report.nodeid, reason.removeprefix("Skipped: "))
