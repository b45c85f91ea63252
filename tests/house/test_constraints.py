"""constraints.txt pins everything that is installed, and names no address."""

from __future__ import annotations

import re
from importlib.metadata import distributions

from tests.house.sources import ROOT

PIN = re.compile(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.!+_-]+)")


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    matches = [PIN.fullmatch(line) for line in lines if line and not line.startswith("#")]
    return {_normalised(match[1]): match[2] for match in matches if match}


def test_every_line_is_an_exact_version_and_nothing_else() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#") and not PIN.fullmatch(line)] == []
    assert not any("://" in line for line in lines)


def test_every_installed_distribution_is_pinned_to_the_version_that_is_there() -> None:
    installed = {_normalised(each.name): each.version for each in distributions()}
    del installed["penstock"]
    assert {name: version for name, version in installed.items() if pins().get(name) != version} == {}


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
