"""A table that changes in place: a row stands for its key, and a newer one takes the place of an older."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, Final

from penstock.cli.ksql.tables import table

_WINDOW: Final = ("WINDOWSTART", "WINDOWEND")
MOST_KEYS: Final = 10_000
"""Rows that are remembered; the oldest go first."""


class Picture:
    """The rows by key, and the text of the newest of them that fit the screen."""

    def __init__(self, names: Sequence[str], keys: Sequence[str]) -> None:
        self._names = list(names)
        self._at = [at for at, name in enumerate(self._names) if name in keys or name in _WINDOW]
        self._rows: dict[str, list[Any]] = {}
        self._changes = 0

    def change(self, values: list[Any], *, deleted: bool) -> None:
        """Take a row in. Without a key's column each row stands for itself."""
        self._changes += 1
        key = repr([values[at] for at in self._at]) if self._at else str(self._changes)
        self._rows.pop(key, None)
        if not deleted:
            self._rows[key] = values
        if len(self._rows) > MOST_KEYS:
            del self._rows[next(iter(self._rows))]

    def text(self, lines: int, width: int) -> str:
        shown = list(self._rows.values())[-max(1, lines - 5) :]
        if self._at:
            shown.sort(key=lambda row: [str(row[at]) for at in self._at])
        drawn = table(self._names, shown).splitlines()
        foot = f"{len(self._rows)} rows, {self._changes} changes. Ctrl-C ends the query."
        return "\n".join(line[:width] for line in [*drawn, foot])


class Screen:
    """Draws a text over the one before it."""

    def __init__(self, out: IO[str] | None = None) -> None:
        self._out = out or sys.stdout
        self._lines = 0

    def draw(self, text: str) -> None:
        up = f"\x1b[{self._lines}A\x1b[J" if self._lines else ""
        self._out.write(f"{up}{text}\n")
        self._out.flush()
        self._lines = text.count("\n") + 1


def show(changes: Iterator[Any], size: Callable[[], tuple[int, int]], screen: Screen) -> Picture | None:
    """Draw until the rows end. `size` gives columns and lines; a line with a failure is a ValueError."""
    picture: Picture | None = None
    for line in changes:
        if "header" in line:
            picture = Picture(*columns_of(line["header"]["schema"]))
        elif "row" in line and picture is not None:
            row = line["row"]
            picture.change(row["columns"], deleted=bool(row.get("tombstone")))
        elif "errorMessage" in line:
            raise ValueError(line["errorMessage"].get("message", line["errorMessage"]))
        if picture is not None:
            width, lines = size()
            screen.draw(picture.text(lines, width))
    return picture


def columns_of(schema: str) -> tuple[list[str], list[str]]:
    """Names of all columns and of the key's, from "`A` INTEGER KEY, `B` MAP<STRING, INTEGER>"."""
    names, keys, depth, start = [], [], 0, 0
    quoted = False
    for at, char in enumerate(f"{schema},"):
        if char == "`":
            quoted = not quoted
        elif not quoted:
            depth += (char in "<(") - (char in ">)")
            if char == "," and depth == 0:
                part = schema[start:at].strip()
                start = at + 1
                names.append(part[1 : part.index("`", 1)] if part[:1] == "`" else part.partition(" ")[0])
                if part.endswith(" KEY"):
                    keys.append(names[-1])
    return names, keys
