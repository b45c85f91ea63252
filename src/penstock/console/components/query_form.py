"""The fields that choose which messages are shown.

They start from, and go back into, the parameters of the address.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.client.paging import Start
from penstock.console.backend import MessageQuery
from penstock.console.components.controls import select_field, text_field
from penstock.console.moments import TIMESTAMP_EXAMPLE
from penstock.console.query import parse_start

STARTS = {"newest": "Newest", "oldest": "Oldest", "offset": "Offset", "timestamp": "Timestamp"}
LIMITS = {25: "25", 50: "50", 100: "100", 200: "200"}
LIMIT = 50
ALL = "all"


class QueryForm:
    """`changed` is called when another page of messages is wanted; `query` may then refuse what was typed."""

    def __init__(self, asked: Mapping[str, str], changed: Callable[[], None]) -> None:
        self._changed = changed
        kind = asked.get("from", "") if asked.get("from") in STARTS else "newest"
        partition = asked.get("partition", "")
        options = {ALL: "All"} | ({partition: partition} if partition.isdecimal() else {})
        limit = next((n for n, label in LIMITS.items() if label == asked.get("limit")), LIMIT)
        self._start = select_field("Start from", STARTS, kind, self._start_changed).control.mark("start")
        self._position = text_field("Offset", value=asked.get(kind, ""))
        self._position.control.on("keydown.enter", changed).on("blur", self._position_left).mark("position")
        self._position.frame.classes("wide")
        self._label_position()
        self._partition = select_field(
            "Partition", options, partition if partition in options else ALL, changed
        )
        self._partition.control.mark("partition")
        self._limit = select_field("Messages", LIMITS, limit, changed).control.mark("limit")

    def query(self, topic: str) -> MessageQuery:
        chosen = self._partition.control.value
        partition = None if chosen == ALL else int(chosen)
        return MessageQuery(topic, self._parsed_start(), partition, int(self._limit.value))

    def address(self) -> dict[str, str]:
        """What differs from the defaults, as parameters of the address."""
        kind, partition, limit = self._start.value, self._partition.control.value, self._limit.value
        asked = {} if kind == "newest" else {"from": kind}
        if self._needs_position() and self._position.control.value:
            asked[kind] = self._position.control.value
        if partition != ALL:
            asked["partition"] = partition
        if limit != LIMIT:
            asked["limit"] = str(limit)
        return asked

    @property
    def from_newest(self) -> bool:
        return bool(self._start.value == "newest")

    def choose_newest(self) -> None:
        self._start.value = "newest"

    def offer_partitions(self, partitions: int) -> None:
        options = {ALL: "All"} | {str(p): str(p) for p in range(partitions)}
        chosen = self._partition.control.value
        self._partition.control.set_options(options, value=chosen if chosen in options else ALL)

    def _parsed_start(self) -> Start:
        return parse_start(self._start.value, self._position.control.value or "")

    def _needs_position(self) -> bool:
        return self._start.value in ("offset", "timestamp")

    def _start_changed(self) -> None:
        """An offset or a timestamp has to be typed before there is anything to read."""
        self._position.control.value = ""
        self._label_position()
        if self._needs_position():
            self._position.control.run_method("focus")
        self._changed()

    def _label_position(self) -> None:
        by_offset = self._start.value == "offset"
        self._position.frame.set_visibility(self._needs_position())
        self._position.label.set_text("Offset" if by_offset else "Timestamp (UTC)")
        self._position.control.props["placeholder"] = "0" if by_offset else TIMESTAMP_EXAMPLE

    def _position_left(self) -> None:
        if self._position.control.value:
            self._changed()

    @property
    def waits_for_typing(self) -> bool:
        """An offset or timestamp is wanted and nothing has been typed yet: no reason to complain."""
        return self._needs_position() and not (self._position.control.value or "").strip()
