"""The topics table: which topics in which order, and the smallest message that brings a browser up to date.

Choosing and sorting is done here, in Python, over the shared overview; the browser gets at most `ROWS_MAX`
lines once and then only numbers that changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.console.components.live import Live
from penstock.console.overview import TopicStats

ROWS_MAX = 200
COLUMNS = ("name", "partitions", "records", "rate", "size")

NO_TOPICS = {"title": "No topics yet", "text": "Create one here, or let a producer write to it."}
NO_MATCH = {"title": "No topic matches", "text": "Change the search, or show internal topics as well."}
WAITING = {"title": "Waiting for the broker", "text": "Topics appear as soon as it answers."}


@dataclass(frozen=True, slots=True)
class TopicView:
    """What the user asked to see."""

    search: str = ""
    internal: bool = False
    sort: str = "name"
    descending: bool = False

    def chosen(self, topics: Iterable[TopicStats]) -> list[TopicStats]:
        wanted = self.search.strip().casefold()
        found = [t for t in topics if (self.internal or not t.internal) and wanted in t.name.casefold()]
        found.sort(key=lambda t: t.name)
        if self.sort != "name":
            found.sort(key=lambda t: _sort_value(t, self.sort), reverse=self.descending)
        elif self.descending:
            found.reverse()
        return found

    def sorted_by(self, column: str) -> TopicView:
        """A click on a column's head: numbers start with the largest, names with A; a second click turns it
        round.
        """
        if column not in COLUMNS:
            return self
        down = not self.descending if column == self.sort else column != "name"
        return TopicView(self.search, self.internal, column, down)


class TopicTable(Live, component="topic_table.js"):  # type: ignore[call-arg]
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[dict[str, Any]] = []
        self._view = TopicView()
        self._sizes = False
        self._start_with(WAITING)

    def show(self, topics: Iterable[TopicStats], view: TopicView, empty: dict[str, str]) -> None:
        """Bring the table up to date: a patch when only numbers changed, everything otherwise."""
        before, self.rows = self.rows, [_row(topic) for topic in topics]
        same_lines = [row["name"] for row in before] == [row["name"] for row in self.rows]
        if same_lines and self.rows and view == self._view:
            self.run_method("patch", _changes(before, self.rows))
            return
        self._view = view
        self._sizes = any(row["size"] is not None for row in self.rows)
        if not self.client.has_socket_connection:
            self._start_with(empty)
        self.run_method("show", self.rows, view.sort, view.descending, empty, self._sizes)

    def _start_with(self, empty: dict[str, str]) -> None:
        """What the page holds before its socket is there, so that nothing flickers."""
        with self._props.suspend_updates():
            self._props["rows"] = self.rows
            self._props["empty"] = empty
            self._props["sizes"] = self._sizes
            self._props["sort"], self._props["descending"] = self._view.sort, self._view.descending


def _row(topic: TopicStats) -> dict[str, Any]:
    return {
        "name": topic.name,
        "internal": topic.internal,
        "partitions": topic.partitions,
        "records": topic.records,
        "rate": topic.records_per_second,
        "size": topic.size_bytes,
        "history": list(topic.history),
    }


def _changes(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What differs, by topic. The history is left out: the browser appends the rate to its own."""
    changed = {
        new["name"]: {key: new[key] for key in new if key != "history" and new[key] != old[key]}
        for old, new in zip(before, after, strict=True)
    }
    return {name: fields for name, fields in changed.items() if fields}


def _sort_value(topic: TopicStats, column: str) -> float:
    values = {
        "partitions": topic.partitions,
        "records": topic.records,
        "rate": topic.records_per_second,
        "size": topic.size_bytes,
    }
    value = values[column]
    return -1.0 if value is None else float(value)
