"""WINDOW: how long its windows are, how long they wait and how long they are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock.sql import statements as s
from penstock.sql.errors import SqlError
from penstock.sql.sources import KeyWindow

DEFAULT_GRACE_MS: Final = 24 * 60 * 60 * 1000
"""A window without GRACE PERIOD is open for a day, counted from its start."""


@dataclass(frozen=True)
class WindowMs:
    kind: str
    """TUMBLING, HOPPING or SESSION."""
    size: int
    """Of a SESSION, the gap that ends it."""
    advance: int
    grace: int
    retention: int | None

    @property
    def of_key(self) -> KeyWindow:
        return KeyWindow(self.kind, None if self.kind == "SESSION" else self.size)


def analyse_window(node: s.Window) -> WindowMs:
    size = node.size.millis
    if size <= 0:
        raise SqlError(f"{node.kind} window size must be larger than zero", *node.size.at)
    advance = size if node.advance is None else node.advance.millis
    if advance <= 0 or advance > size:
        raise SqlError(
            f"Window advance must be larger than zero and at most the size, {size} ms: it is {advance}",
            *node.at,
        )
    grace = max(DEFAULT_GRACE_MS - size, 0) if node.grace is None else node.grace.millis
    retention = None if node.retention is None else node.retention.millis
    least = size + (grace if node.grace is not None else 0)
    if retention is not None and retention < least:
        raise SqlError(
            "Retention period cannot be smaller than window size plus grace period: "
            f"{retention} ms is less than {least} ms. Make RETENTION longer",
            *node.at,
        )
    return WindowMs(node.kind, size, advance, grace, retention)
