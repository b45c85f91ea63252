"""`Grid`: a table whose columns are described by data, for every page that lists things.

The browser gets at most `ROWS_MAX` lines once and then only cells that changed. It sorts them by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from penstock.console.components.live import Live

ROWS_MAX = 500
Row = dict[str, Any]
"""`id` names the line. `href` makes its first cell a link, `mark` puts a tag behind it, `acts` names the
actions that it allows (all without it)."""

Empty = dict[str, str]


@dataclass(frozen=True, slots=True)
class Column:
    key: str
    label: str
    kind: str = "text"
    """text, mono, tag, spark, number, rate, bytes, bytes_rate, seconds, ms or percent."""
    width: str = ""
    classes: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """A button at the end of each line; the table emits `act` with its name and the line's id."""

    name: str
    label: str
    icon: str
    danger: bool = False


class Grid(Live, component="grid.js"):  # type: ignore[call-arg]
    def __init__(
        self,
        caption: str,
        columns: Sequence[Column],
        empty: Empty,
        *,
        actions: Sequence[Action] = (),
        sort: str = "",
        descending: bool = False,
        opens: bool = False,
        look: str = "",
    ) -> None:
        """With `opens` a line without `href` emits `open` with its id."""
        super().__init__()
        self.rows: list[Row] = []
        self._empty = empty
        self._props["caption"] = caption
        self._props["columns"] = [asdict(column) for column in columns]
        self._props["actions"] = [asdict(action) for action in actions]
        self._props["rows"], self._props["empty"] = [], empty
        self._props["sort"], self._props["descending"] = sort, descending
        self._props["opens"], self._props["look"] = opens, look

    def show(self, rows: Iterable[Row], empty: Empty | None = None) -> None:
        """Bring the table up to date: a patch when only cells changed, everything otherwise."""
        before, self.rows = self.rows, list(rows)[:ROWS_MAX]
        if empty is not None:
            self._empty = empty
        if self.rows and [row["id"] for row in before] == [row["id"] for row in self.rows]:
            if changes := _changes(before, self.rows):
                self.run_method("patch", changes)
            return
        if not self.client.has_socket_connection:
            with self._props.suspend_updates():  # what the page holds before its socket is there
                self._props["rows"], self._props["empty"] = self.rows, self._empty
        self.run_method("show", self.rows, self._empty)


def _changes(before: list[Row], after: list[Row]) -> dict[str, Row]:
    changed = {
        str(new["id"]): {key: new[key] for key in new if key not in old or new[key] != old[key]}
        for old, new in zip(before, after, strict=True)
    }
    return {name: cells for name, cells in changed.items() if cells}
