"""Tables of what an API describes and what a running service answers, for its page in docs/.

A `Case` is one operation of the description with one outcome, and the requests that bring it about. The last
request's answer must have the status and the code. `write_table` puts the rows between two marks of a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import httpx

BEGIN, END = "<!-- generated table -->", "<!-- end of the generated table -->"


class Ask(NamedTuple):
    """One request."""

    method: str
    path: str
    body: Any = None
    params: dict[str, Any] | None = None
    headers: dict[str, str] | None = None


@dataclass(frozen=True)
class Case:
    method: str
    path: str
    """As the description writes it."""
    outcome: int
    """A status below 1000, or an error code."""
    asks: Sequence[Ask] = ()
    """None for an outcome that never happens here; `why` says so."""
    why: str = ""
    absent: bool = False
    """True for an operation that this service does not have: no route has it."""


def absent(method: str, template: str, outcome: int, path: str, why: str) -> Case:
    """An operation of the description that is not there."""
    return Case(method, template, outcome, [Ask(method, path)], why, absent=True)


@dataclass
class Row:
    method: str
    path: str
    outcomes: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def check(client: httpx.Client, case: Case, names: dict[str, str]) -> str:
    """What is wrong with a case; empty when it is answered as described."""
    answer = None
    for ask in case.asks:
        told = {key: value.format(**names) for key, value in (ask.headers or {}).items()}
        answer = client.request(
            ask.method,
            ask.path.format(**names),
            json=_named(ask.body, names),
            params=_named(ask.params, names),
            headers=told,
        )
    if answer is None:
        return ""
    if case.outcome < 1000:
        found = answer.status_code
    else:
        found = answer.json().get("error_code") if answer.content else answer.status_code
    if found == case.outcome:
        return ""
    return f"{case.method} {case.path}: wanted {case.outcome}, got {found}: {answer.text[:200]}"


def table(cases: Iterable[Case]) -> str:
    rows: dict[tuple[str, str], Row] = {}
    for case in cases:
        row = rows.setdefault((case.method, case.path), Row(case.method, case.path))
        row.outcomes.append(str(case.outcome) if case.asks else f"({case.outcome})")
        if case.why:
            row.notes.append(case.why)
    lines = ["| | path | answered | notes |", "|---|---|---|---|"]
    for row in rows.values():
        notes = " ".join(dict.fromkeys(row.notes))
        lines.append(f"| {row.method} | `{row.path}` | {', '.join(row.outcomes)} | {notes} |")
    return "\n".join(lines)


def write_table(page: Path, cases: Iterable[Case]) -> None:
    page.write_text(_replaced(page.read_text(), table(cases)))


def is_current(page: Path, cases: Iterable[Case]) -> bool:
    text = page.read_text()
    return _replaced(text, table(cases)) == text


def _replaced(text: str, made: str) -> str:
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


def _named(value: Any, names: dict[str, str]) -> Any:
    """Texts with `<name>` replaced; braces belong to JSON."""
    if isinstance(value, str):
        for name, each in names.items():
            value = value.replace(f"<{name}>", each)
        return value
    if isinstance(value, dict):
        return {key: _named(each, names) for key, each in value.items()}
    return [_named(each, names) for each in value] if isinstance(value, list) else value
