"""Skips are named with their reasons, and CI forgives only those that were agreed to."""

from __future__ import annotations

import pytest

from tests.house.conftest import RunHouse
from tests.house.skip_policy import LIST, Skip, read_allowed

SKIPPED = """
import pytest

def test_passes():
    pass

@pytest.mark.skip(reason="kcat is not installed")
def test_of_kcat():
    pass

@pytest.mark.xfail(reason="known", strict=True)
def test_that_is_known_to_fail():
    assert False
"""


@pytest.fixture
def skipped(pytester: pytest.Pytester) -> pytest.Pytester:
    _write(pytester, "tests/compat/test_tools.py", SKIPPED)
    return pytester


def _write(pytester: pytest.Pytester, name: str, text: str) -> None:
    path = pytester.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_skip_is_named_with_its_reason_and_forgiven_outside_ci(
    skipped: pytest.Pytester, run_house: RunHouse
) -> None:
    result = run_house()
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["*= skipped tests =*", "tests/compat/test_tools.py::test_of_kcat | kcat is not installed"]
    )
    result.stdout.no_fnmatch_line("*refused in CI*")
    result.stdout.no_fnmatch_line("*test_that_is_known_to_fail | *")


def test_a_skip_that_nobody_agreed_to_fails_ci(skipped: pytest.Pytester, run_house: RunHouse) -> None:
    result = run_house(ci=True)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=1, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines(
        ["refused in CI*", "  tests/compat/test_tools.py::test_of_kcat | kcat is not installed"]
    )


def test_a_skip_on_the_list_is_forgiven_in_ci(skipped: pytest.Pytester, run_house: RunHouse) -> None:
    _write(skipped, str(LIST), "# Debian's tool\ntests/compat/*::test_of_kcat | kcat is not*\n")
    assert run_house(ci=True).ret == pytest.ExitCode.OK


def test_another_reason_is_not_forgiven(skipped: pytest.Pytester, run_house: RunHouse) -> None:
    _write(skipped, str(LIST), "# Debian's tool\ntests/compat/*::test_of_kcat | kcat is too old\n")
    assert run_house(ci=True).ret == pytest.ExitCode.TESTS_FAILED


def test_a_module_that_skips_itself_is_held_to_the_same_rule(
    pytester: pytest.Pytester, run_house: RunHouse
) -> None:
    _write(pytester, "tests/a/test_whole.py", "import pytest\npytest.importorskip('nonesuch')\n")
    _write(pytester, "tests/b/test_other.py", "def test_passes(): pass\n")
    result = run_house(ci=True)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["tests/a/test_whole.py | could not import 'nonesuch'*"])


def test_workers_are_held_to_the_same_rules(pytester: pytest.Pytester, run_house: RunHouse) -> None:
    _write(pytester, "tests/a/test_whole.py", "import pytest\npytest.importorskip('nonesuch')\n")
    _write(pytester, "tests/compat/test_tools.py", SKIPPED)
    result = run_house("-n", "2", ci=True)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines_random(
        [
            "  tests/a/test_whole.py | could not import 'nonesuch'*",
            "  tests/compat/test_tools.py::test_of_kcat | kcat is not installed",
            "*1 passed*",
        ]
    )
    listed = [line for line in result.outlines if line.startswith("tests/a/test_whole.py |")]
    assert len(listed) == 1, "both workers have collected it"


def test_a_failing_test_keeps_its_own_exit_code(skipped: pytest.Pytester, run_house: RunHouse) -> None:
    _write(skipped, "tests/compat/test_more.py", "def test_fails(): assert False\n")
    assert run_house(ci=True).ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("text", ["a | b\n", "# why\n\na | b\n", "# why\na\n"])
def test_a_pattern_needs_a_reason_and_an_explanation(
    pytester: pytest.Pytester, run_house: RunHouse, text: str
) -> None:
    _write(pytester, str(LIST), text)
    result = run_house()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*allowed_skips.txt: *needs a reason*"])


def test_patterns_are_read_as_pairs(pytester: pytest.Pytester) -> None:
    _write(pytester, "list.txt", "# why\nx::* | r | s\ny | *\n")
    assert read_allowed(pytester.path / "list.txt") == [Skip("x::*", "r | s"), Skip("y", "*")]
