"""Every area has a budget, a run shows what was used, and CI fails an area that is far beyond it."""

from __future__ import annotations

import pytest

from tests.house.conftest import RunHouse
from tests.house.forms import fast_areas
from tests.house.lanes import LANES, Lanes, read_lanes
from tests.house.time_budget import BUDGETS, area_of, read_budgets

CI_MINUTES_FOR_TESTS = 32
"""CI is to take 36 minutes; installing and linting take the rest."""

CHECK_SECONDS = 100
LINT_SECONDS = 15
"""What linting, types and collecting take of them."""

FASTER_BY_TWO_WORKERS = 1.5
"""Not twice: brokers, clients and Spark have processes and threads of their own, and share two cores."""

FASTER_FOR_DECISIONS = 1.8
"""Tests of packages that decide have one thread."""


@pytest.fixture
def slow_area(pytester: pytest.Pytester) -> pytest.Pytester:
    """An area that takes a tenth of a second."""
    area = pytester.path / "tests" / "slow"
    area.mkdir(parents=True)
    (area / "test_slow.py").write_text("import time\ndef test_takes_its_time(): time.sleep(0.1)\n")
    return pytester


@pytest.mark.parametrize(
    ("budget", "ci", "expected"),
    [
        (0.001, False, pytest.ExitCode.OK),
        (0.001, True, pytest.ExitCode.TESTS_FAILED),
        (0.08, True, pytest.ExitCode.OK),
        (60, True, pytest.ExitCode.OK),
    ],
    ids=["far beyond, no CI", "far beyond", "a noisy machine", "within"],
)
def test_only_ci_fails_and_only_far_beyond_the_budget(
    slow_area: pytest.Pytester, run_house: RunHouse, budget: float, ci: bool, expected: pytest.ExitCode
) -> None:
    (slow_area.path / BUDGETS).write_text(f"slow = {budget}\n")
    assert run_house(ci=ci).ret == expected


def test_what_outlives_its_area_is_charged_to_none(pytester: pytest.Pytester, run_house: RunHouse) -> None:
    area = pytester.path / "tests" / "quick"
    area.mkdir(parents=True)
    (area / "test_quick.py").write_text(
        "import pytest, time\n"
        "@pytest.fixture(scope='session')\n"
        "def server():\n    yield\n    time.sleep(0.3)\n"
        "def test_uses_it(server): pass\n"
    )
    (pytester.path / BUDGETS).write_text("quick = 0.05\n")
    assert run_house(ci=True).ret == pytest.ExitCode.OK


def test_the_table_names_what_was_used_and_what_is_over(
    slow_area: pytest.Pytester, run_house: RunHouse
) -> None:
    (slow_area.path / BUDGETS).write_text("slow = 0.001\n")
    result = run_house(ci=True)
    result.stdout.fnmatch_lines(
        ["*= seconds used per area =*", "slow * of 0.001, over budget", "failed: more than 3 times * in slow"]
    )


def test_long_forms_have_no_budget(slow_area: pytest.Pytester, run_house: RunHouse) -> None:
    (slow_area.path / BUDGETS).write_text("slow = 0.001\n")
    assert run_house("--long", ci=True).ret == pytest.ExitCode.OK


@pytest.mark.parametrize(
    ("node_id", "area"),
    [
        ("tests/storage/test_log.py::test_it", "storage"),
        ("tests/compat/deep/test_x.py::T::test_it[a/b]", "compat"),
        ("tests/test_top.py::test_it", "tests"),
    ],
)
def test_an_area_is_the_first_folder(node_id: str, area: str) -> None:
    assert area_of(node_id) == area


def test_every_area_of_this_project_has_a_budget(pytestconfig: pytest.Config) -> None:
    tests = pytestconfig.rootpath / "tests"
    areas = {path.relative_to(tests).parts[0] for path in tests.glob("*/**/test_*.py")}
    assert areas <= read_budgets(pytestconfig.rootpath / BUDGETS).keys()


def test_the_budgets_together_fit_into_ci(pytestconfig: pytest.Config) -> None:
    budgets = read_budgets(pytestconfig.rootpath / BUDGETS)
    assert sum(budgets.values()) <= CI_MINUTES_FOR_TESTS * 60 * FASTER_BY_TWO_WORKERS


def test_no_lane_is_longer_than_ci(pytestconfig: pytest.Config) -> None:
    budgets = read_budgets(pytestconfig.rootpath / BUDGETS)
    lanes = Lanes(read_lanes(pytestconfig.rootpath / LANES), budgets)
    assert {area for area in budgets if lanes.seconds(area) > CI_MINUTES_FOR_TESTS * 60} == set()
    assert lanes.seconds("spark") <= CI_MINUTES_FOR_TESTS * 60


def test_the_fast_areas_stand_first_and_fit_into_a_check(pytestconfig: pytest.Config) -> None:
    budgets = read_budgets(pytestconfig.rootpath / BUDGETS)
    fast = [area for area in budgets if area in fast_areas()]
    assert list(budgets)[: len(fast)] == fast
    assert sum(budgets[area] for area in fast) / FASTER_FOR_DECISIONS + LINT_SECONDS <= CHECK_SECONDS


def test_no_budget_is_for_an_area_that_is_gone(pytestconfig: pytest.Config) -> None:
    budgets = read_budgets(pytestconfig.rootpath / BUDGETS)
    assert [area for area in budgets if not (pytestconfig.rootpath / "tests" / area).is_dir()] == []
