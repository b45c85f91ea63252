"""The messages table: rows that are shown, appended below or put on top, never replaced one by one.

It remembers what it shows (bounded), so that a text search can look through it and tests can read it. The
details of a message are fetched by the browser from the JSON API when it is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.client.paging import Message
from penstock.console.components.live import Live
from penstock.console.decoding_records import Decoded
from penstock.console.shapes import RowShape, row_shape

ROWS_MAX = 1_000
LIVE_ROWS_MAX = 200
"""Rows of a live view: each tick moves all of them, and a browser lays out and paints what moves."""

NO_MESSAGES = {
    "title": "No messages",
    "text": "This topic is empty. Messages appear here once one is produced.",
}
NOTHING_HERE = {
    "title": "No messages here",
    "text": "Nothing from this start in this partition. Try another.",
}
NO_MATCH = {
    "title": "No shown message matches",
    "text": "The search looks through what was read. Read more, or clear it.",
}
WAITING = {"title": "Waiting for messages", "text": "They appear here the moment they are produced."}
FAILED = {"title": "Messages could not be read", "text": "The reason stands above."}


class MessageTable(Live, component="message_table.js"):  # type: ignore[call-arg]
    def __init__(self, topic: str, decoded: Callable[[Message, bool], Decoded | None]) -> None:
        """`decoded` says at once what a schema makes of a key or value, where that is known."""
        super().__init__()
        self._decoded = decoded
        self.rows: list[RowShape] = []
        self._props["topic"] = topic
        self._props["empty"] = NO_MESSAGES

    def load(self) -> None:
        self.run_method("load")

    def show(self, messages: Sequence[Message], empty: dict[str, str]) -> None:
        self.rows = [row_shape(message, self._decoded) for message in messages[:ROWS_MAX]]
        self.run_method("show", self.rows, empty)

    def append(self, messages: Sequence[Message]) -> None:
        """Below what is there."""
        rows = [row_shape(message, self._decoded) for message in messages][
            : max(0, ROWS_MAX - len(self.rows))
        ]
        self.rows.extend(rows)
        self.run_method("append", rows)

    def prepend(self, messages: Sequence[Message]) -> None:
        """On top, oldest first in `messages`, so that the last of them ends up first. The oldest rows go."""
        rows = [row_shape(message, self._decoded) for message in messages[-LIVE_ROWS_MAX:]]
        self.rows = (rows[::-1] + self.rows)[:LIVE_ROWS_MAX]
        if rows:
            self.run_method("prepend", rows, LIVE_ROWS_MAX)
