"""A history as JSON lines: one event to a line, and after them what was read at the end.

A line is `{"Event": [...]}` with the fields in the order of `events`; nested parts look the same, bytes are
`{"bytes": "<hex>"}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from penstock.testing.history import events
from penstock.testing.history.events import CommittedOffset, Event, FinalRead, History, Kind, ReplicaLog

_TYPES: Final[dict[str, Any]] = {
    name: found
    for name, found in vars(events).items()
    if isinstance(found, type) and issubclass(found, tuple) and hasattr(found, "_fields")
}


def line_of(item: object) -> str:
    return json.dumps(_plain(item), separators=(",", ":")) + "\n"


def read_history(
    lines: Iterable[str], *, compacted: frozenset[str] = frozenset(), total: int | None = None
) -> History:
    """The history in these lines. A last line that was cut off by a death is left out."""
    found: dict[type, list[Any]] = {Event: [], FinalRead: [], ReplicaLog: [], CommittedOffset: []}
    for line in lines:
        if line.endswith("\n"):
            item = _typed(json.loads(line))
            found[type(item)].append(item)
    return History(
        tuple(found[Event]),
        tuple(found[FinalRead]),
        tuple(found[ReplicaLog]),
        tuple(found[CommittedOffset]),
        compacted,
        total,
    )


def _plain(item: Any) -> Any:
    if isinstance(item, bytes):
        return {"bytes": item.hex()}
    if isinstance(item, tuple):
        fields = [_plain(field) for field in item]
        return {type(item).__name__: fields} if hasattr(item, "_fields") else fields
    return item


def _typed(item: Any) -> Any:
    if isinstance(item, list):
        return tuple(_typed(part) for part in item)
    if not isinstance(item, dict):
        return item
    ((name, fields),) = item.items()
    if name == "bytes":
        return bytes.fromhex(fields)
    parts = [_typed(field) for field in fields]
    if name == "Event":
        parts[0] = Kind(parts[0])
    elif name == "Poll":
        parts[0] = events.Isolation(parts[0])
    elif name == "FinalRead":
        parts[3] = events.Isolation(parts[3])
    return _TYPES[name](*parts)
