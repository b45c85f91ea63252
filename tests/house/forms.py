"""Short and long forms of tests: the options, the markers and the Hypothesis profiles that go with them.

Every claim is tested briefly in CI; `make faults` and `make sim` pass `--long` for the form of minutes. A
test reads the `long_form` fixture to choose its size, or is marked `long` when it has no short form at all.
`make check` passes `--fast`: the areas of packages that decide, without tests that need Java.
"""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

from tests.house.layers import deciding_packages

IN_CI = "CI"
"""The variable that CI sets to `true`; it makes the policies binding."""

SHORT_FORM_SEED = 1

FAST_BESIDE = {"house", "properties"}
"""The areas of `make check` that are not named after a package."""

JAVA = {"apache_kafka", "java_programs"}
"""Fixtures that start a JVM."""


def in_ci() -> bool:
    return os.environ.get(IN_CI) == "true"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("penstock")
    group.addoption("--long", action="store_true", help="run the long forms, which take minutes")
    group.addoption("--fast", action="store_true", help="only areas of packages that decide, without Java")
    group.addoption("--only", metavar="CLAIM", help="run only the tests of one claim, such as A1")
    group.addoption("--apache", action="store_true", help="run fault tests and Spark's sink on Apache Kafka")
    group.addoption("--seed", type=int, help="the seed of a simulation, to repeat a run")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: has no short form; deselected unless --long is given")
    config.addinivalue_line("markers", "claim(name): shows one row of the reliability scoreboard, such as A1")
    if config.getoption("--hypothesis-profile", default=None) is None:
        hypothesis.settings.load_profile(_profile(config))


def fast_areas() -> set[str]:
    """The folders of tests that take seconds: no sockets, no processes."""
    return deciding_packages() | FAST_BESIDE


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    is_area = collection_path.parent == config.rootpath / "tests" and collection_path.is_dir()
    return (is_area and config.getoption("--fast") and collection_path.name not in fast_areas()) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept = [item for item in items if _is_selected(item, config)]
    if len(kept) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept


@pytest.fixture
def long_form(pytestconfig: pytest.Config) -> bool:
    """Whether this run may take minutes."""
    return bool(pytestconfig.getoption("--long"))


@pytest.fixture
def seed(pytestconfig: pytest.Config) -> int:
    """The seed of this run; a failing test shows how to repeat it."""
    given: int | None = pytestconfig.getoption("--seed")
    chosen = SHORT_FORM_SEED if given is None else given
    print(f"to repeat: make sim SEED={chosen}")
    return chosen


def _profile(config: pytest.Config) -> str:
    # No deadlines: a shared machine pauses whenever it likes, and pytest-timeout watches for what hangs.
    hypothesis.settings.register_profile("fast", max_examples=25, deadline=None)
    hypothesis.settings.register_profile("ci", max_examples=50, deadline=None, derandomize=True)
    hypothesis.settings.register_profile("thorough", max_examples=2_000, deadline=None)
    if config.getoption("--long"):
        return "thorough"
    return "ci" if in_ci() else "fast"


def _is_selected(item: pytest.Item, config: pytest.Config) -> bool:
    only: str | None = config.getoption("--only")
    if only is not None and only not in {marker.args[0] for marker in item.iter_markers("claim")}:
        return False
    if config.getoption("--fast") and JAVA & set(getattr(item, "fixturenames", ())):
        return False
    return config.getoption("--long") or item.get_closest_marker("long") is None
