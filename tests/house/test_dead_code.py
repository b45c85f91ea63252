"""No code is left behind that nothing uses. Vulture looks; `dead_code_allowed.txt` names what seems so."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import NamedTuple

from vulture import Vulture  # type: ignore[import-untyped]

from tests.house.sources import PACKAGE, ROOT

ALLOWED = Path(__file__).with_name("dead_code_allowed.txt")
KINDS = {"function", "method", "class", "property", "import", "unreachable_code"}
"""Not variables and attributes: fields of messages and members of enumerations are there to be complete."""
CALLED_BY_A_DECORATOR = ["@*.command*", "@*.group*", "@define*", "@pytest.*"]
BROKER = (
    "records",
    "quotas",
    "storage",
    "raft",
    "replication",
    "coordinator",
    "controller",
    "groups",
    "transactions",
    "handlers",
)
"""Packages of the broker: a use in a test does not count here."""
ONLY_FOR_TESTS = {
    "check_invariants",
    "uncleanable",  # which logs the cleaner leaves alone, and why
    "ACCESS",  # each handler's, which a house test walks
}


class Allowed(NamedTuple):
    """Names that may stay, by patterns."""

    path: str
    name: str

    def covers(self, path: str, name: str) -> bool:
        return fnmatch(path, self.path) and fnmatch(name, self.name)


def test_everything_is_used_by_the_package_its_tests_or_its_examples() -> None:
    assert not list(_dead(_unused(ROOT / "src", ROOT / "tests", ROOT / "examples", ROOT / "benchmarks")))


def test_everything_in_the_broker_is_used_by_the_package_itself() -> None:
    unused = [
        (path, line, name)
        for path, line, name in _unused(ROOT / "src")
        if path.split("/")[0] in BROKER and name not in ONLY_FOR_TESTS
    ]
    assert not list(_dead(tuple(unused)))


def test_every_line_of_the_allow_list_is_needed() -> None:
    unused = _unused(ROOT / "src", ROOT / "tests", ROOT / "examples", ROOT / "benchmarks")
    idle = [entry for entry in _allowed() if not any(entry.covers(path, name) for path, _, name in unused)]
    assert not idle


def test_code_that_nothing_uses_is_found(tmp_path: Path) -> None:
    (tmp_path / "left.py").write_text("def used(): return 1\ndef left_behind(): return used()\n")
    scan = Vulture()
    scan.scavenge([str(tmp_path)])
    assert [item.name for item in scan.get_unused_code(min_confidence=60)] == ["left_behind"]


def _dead(unused: tuple[tuple[str, int, str], ...]) -> Iterator[str]:
    allowed = _allowed()
    for path, line, name in unused:
        if not any(entry.covers(path, name) for entry in allowed):
            yield f"{path}:{line} {name}"


@cache
def _unused(*places: Path) -> tuple[tuple[str, int, str], ...]:
    """Code of the package that nothing in these places names."""
    scan = Vulture(ignore_decorators=CALLED_BY_A_DECORATOR)
    scan.scavenge([str(place) for place in places])
    return tuple(
        (Path(item.filename).relative_to(PACKAGE).as_posix(), item.first_lineno, item.name)
        for item in scan.get_unused_code(min_confidence=60)
        if item.typ in KINDS and Path(item.filename).is_relative_to(PACKAGE)
    )


def _allowed() -> list[Allowed]:
    lines = [line.split(None, 2) for line in ALLOWED.read_text().splitlines() if line and line[0] != "#"]
    assert all(len(line) == 3 for line in lines), "path, name, reason"
    return [Allowed(path, name) for path, name, _ in lines]
