"""Short forms by default, long forms and single claims on demand, seeds that can be repeated."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest

from tests.house.conftest import RunHouse
from tests.house.forms import fast_areas

FORMS = """
import hypothesis
import pytest

@pytest.mark.claim("A1")
def test_of_a1(long_form):
    print("long" if long_form else "short")

@pytest.mark.long
@pytest.mark.claim("A10")
def test_of_a10():
    pass

def test_of_no_claim(seed):
    print(f"seed={seed}")

def test_of_the_profile():
    print(f"profile={hypothesis.settings.get_current_profile_name()}")
"""


@pytest.fixture(autouse=True)
def _forms(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_forms=FORMS)


@pytest.fixture(autouse=True)
def _profile_of_this_run() -> Iterator[None]:
    """A pytest inside pytest shares Hypothesis with us: put our profile back."""
    before = hypothesis.settings.get_current_profile_name()
    yield
    hypothesis.settings.load_profile(before)


def test_the_short_form_is_the_default_and_long_tests_are_deselected(run_house: RunHouse) -> None:
    result = run_house("-s")
    result.assert_outcomes(passed=3, deselected=1)
    result.stdout.fnmatch_lines(["*short*", "*seed=1*", "*profile=fast*"])


def test_long_runs_everything_at_length(run_house: RunHouse) -> None:
    result = run_house("-s", "--long")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*long*", "*profile=thorough*"])


def test_ci_draws_the_same_examples_every_time(run_house: RunHouse) -> None:
    run_house("-s", ci=True).stdout.fnmatch_lines(["*profile=ci*"])


def test_a_claim_is_matched_whole(run_house: RunHouse) -> None:
    run_house("--long", "--only", "A1").assert_outcomes(passed=1, deselected=3)


def test_an_unknown_claim_is_not_a_success(run_house: RunHouse) -> None:
    assert run_house("--only", "A99").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_seed_can_be_given_and_is_shown(run_house: RunHouse) -> None:
    run_house("-s", "--seed", "42").stdout.fnmatch_lines(["*make sim SEED=42*", "*seed=42*"])


def test_the_fast_form_leaves_out_other_areas_and_whatever_needs_java(
    pytester: pytest.Pytester, run_house: RunHouse
) -> None:
    for area in ("records", "server"):
        folder = pytester.path / "tests" / area
        folder.mkdir(parents=True)
        (folder / f"test_{area}.py").write_text(
            "import pytest\n@pytest.fixture\ndef java_programs(): pass\n"
            "def test_plain(): pass\ndef test_with_java(java_programs): pass\n"
        )
    run_house("--fast", "tests").assert_outcomes(passed=1, deselected=1)
    run_house("tests").assert_outcomes(passed=4)


def test_packages_that_decide_are_checked_fast_and_those_with_sockets_are_not() -> None:
    assert {"records", "storage", "transactions", "house"} <= fast_areas()
    assert not {"server", "wire", "spark", "faults"} & fast_areas()
