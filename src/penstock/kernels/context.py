"""What an operator may do: forward records, find its stores, know the time; and how a table's changes go out.

The task that runs the topology owns the state behind it (`plan/task.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.kernels.record import UNKNOWN_TIME, Change, Headers, Metadata, Record

Held = tuple[Any, Any, Any, int, Headers, bool, Metadata | None]
"""The row before the step; key, row, time, headers and `is_latest` of its last change; whence that came."""

Process = Callable[[Record], None]
Getter = Callable[[Any, int | None], Any]
"""The current row of a table as `Stamped`, or the one as of a time where the table is versioned."""


@dataclass
class TaskState:
    """What all operators of one task share."""

    application_id: str = ""
    task_id: str = "0_0"
    stream_time: int = UNKNOWN_TIME  # the newest time of any record taken; never goes back
    now_ms: int = 0  # the wall clock as the host gave it
    metadata: Metadata | None = None  # of the record being processed; none in a wall-clock punctuator
    caching: bool = False  # one update a key and step, instead of every update
    commit_requested: bool = False
    held: dict[str, dict[bytes, Held]] = field(
        default_factory=dict
    )  # changes to be forwarded when the step ends, by store

    @property
    def record_time(self) -> int:
        """The time of the record being processed; stream time where there is none."""
        return self.stream_time if self.metadata is None else self.metadata.timestamp


@dataclass
class Context:
    """One operator's view of its task."""

    name: str
    task: TaskState
    stores: dict[str, Any] = field(default_factory=dict)
    views: dict[str, Getter] = field(
        default_factory=dict
    )  # tables that this operator reads, by their node's name
    marks: dict[str, int] = field(
        default_factory=dict
    )  # small numbers that must survive, saved with the stores
    children: list[tuple[str, Process]] = field(default_factory=list)
    emitters: list[Emitter] = field(default_factory=list)
    schedule: Callable[[int, str, Callable[[int], None]], Callable[[], None]] | None = None
    close: Callable[[], None] | None = None

    def forward(self, record: Record, to: str | None = None) -> None:
        """Hand a record to all children, or to the one that is named.

        When a child fails, `plan/failures.py` reads its `name` from this frame.
        """
        if to is None:
            for name, process in self.children:  # noqa: B007
                process(record)
            return
        for name, process in self.children:
            if name == to:
                process(record)
                return
        raise KeyError(f"{self.name} has no child {to}; its children: {[name for name, _ in self.children]}")

    def advance(self, mark: str, timestamp: int) -> int:
        """Move a time forward that never goes back, and return it."""
        known = self.marks.get(mark, UNKNOWN_TIME)
        if timestamp > known:
            self.marks[mark] = known = timestamp
        return known


class Emitter:
    """How a table with a store emits its changes: each at once, or the last of each key when the step ends.

    Operators that share a store share what is held back, so that the last change of a key is emitted.
    """

    def __init__(self, context: Context, store: Any, *, send_old: bool, cached: bool = True) -> None:
        self._context, self._send_old = context, send_old
        self.cached = cached and context.task.caching
        self.needs_old = (
            send_old or self.cached
        )  # held back, a row that came and went need not be emitted at all
        self._held: dict[bytes, Held] = context.task.held.setdefault(store.name, {})
        context.emitters.append(self)

    def needs_old_of(self, raw_key: bytes) -> bool:
        """Whether the next change of this row needs the old value. While changes are held back, the first one
        of a step does."""
        return raw_key not in self._held if self.cached else self._send_old

    def emit(
        self,
        raw_key: bytes,
        key: Any,
        new: Any,
        old: Any,
        timestamp: int,
        headers: Headers,
        is_latest: bool = True,
    ) -> None:
        if self.cached:
            self.hold(raw_key, key, new, old, timestamp, headers, is_latest, self._context.task.metadata)
        else:
            change = Change(new, old if self._send_old else None, is_latest)
            self._context.forward(Record(key, change, timestamp, headers))

    def hold(
        self,
        raw_key: bytes,
        key: Any,
        new: Any,
        old: Any,
        timestamp: int,
        headers: Headers,
        is_latest: bool,
        metadata: Metadata | None,
    ) -> None:
        """Keep a change until the step ends. Rows are emitted in the order of their last change."""
        held = self._held.pop(raw_key, None)
        first_old = old if held is None else held[0]
        self._held[raw_key] = (first_old, key, new, timestamp, headers, is_latest, metadata)

    def flush(self) -> None:
        """Forward what was held back, as if each key had changed once."""
        held = list(self._held.values())
        self._held.clear()
        task, forward, send_old = self._context.task, self._context.forward, self._send_old
        for old, key, new, timestamp, headers, is_latest, metadata in held:
            if new is None and old is None:
                continue
            task.metadata = metadata
            change = Change(new, old if send_old else None, is_latest)
            forward(Record(key, change, timestamp, headers))
