"""docs/metrics.md has every metric of a broker, as it is declared, and no other."""

from __future__ import annotations

from pathlib import Path

from penstock.metrics.text import Family
from penstock.server.metrics.families import families

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def row(family: Family) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    return f"| `{family.name}` | {family.kind} | {labels} | {family.help} |"


def test_the_page_lists_what_a_broker_declares() -> None:
    section = PAGE.read_text().partition("## A broker\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert rows == [row(family) for family in families()]


def test_no_name_is_declared_twice() -> None:
    names = [family.name for family in families()]
    assert sorted(set(names)) == sorted(names)
