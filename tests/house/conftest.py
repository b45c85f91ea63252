"""A pytest inside pytest, with the house's plugins and none of the project's tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest

RunHouse = Callable[..., pytest.RunResult]


@pytest.fixture
def run_house(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> RunHouse:
    """Runs the tests under `tests/` of pytester's folder; `ci=True` makes the policies binding."""

    def run(*arguments: str, ci: bool = False) -> pytest.RunResult:
        monkeypatch.setenv("CI", "true" if ci else "")
        plugins = [f"tests.house.{name}" for name in ("forms", "skip_policy", "time_budget", "lanes")]
        loaded = [part for plugin in plugins for part in ("-p", plugin)]
        return pytester.runpytest_inprocess(*loaded, *arguments)

    return run
