"""Every case of the files beside this one: statements, records in, records out, or words of an error.

The files have the layout that `penstock sql test` reads, one for each topic. A case is written from ksqlDB's
documentation.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.sql.testing import Case, read_cases, run_case

FILES = sorted((Path(__file__).parent / "cases").glob("*.json"))
CASES = [(path.stem, case) for path in FILES for case in read_cases(path)]


@pytest.mark.parametrize(
    "case", [case for _, case in CASES], ids=[f"{file}: {case.name}" for file, case in CASES]
)
def test_a_case_gives_what_it_expects(case: Case) -> None:
    result = run_case(case)
    assert result.passed, "\n".join([*result.differences, *(f"log: {line}" for line in result.log)])


def test_names_say_which_case_it_is() -> None:
    names = [f"{file}: {case.name}" for file, case in CASES]
    assert len(names) == len(set(names))
