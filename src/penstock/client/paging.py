"""Pages of messages: where to start, which offsets to read of each partition, how partitions merge, where the
next page begins.

Pure: numbers in, numbers out. `messages` does the reading.

A page goes forward (oldest first, from an offset or a time) or backward (newest first). Partitions are merged
by the timestamp at the head of each, never sorted: so a page holds a contiguous run of every partition, and
following `Page.next` neither loses nor repeats a record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

RECORDS_READ_MAX = 10_000
"""Records read for one page over all partitions; with many partitions each gets its share, at least one."""


class Message(NamedTuple):
    """One record as a consumer gets it."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    timestamp_type: str
    """`CreateTime`, `LogAppendTime`, or empty when the record has no timestamp."""
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Newest:
    """Backward from the end."""


@dataclass(frozen=True, slots=True)
class Oldest:
    """Forward from the first record that is still there."""


@dataclass(frozen=True, slots=True)
class FromOffset:
    offset: int


@dataclass(frozen=True, slots=True)
class FromTimestamp:
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Before:
    """Backward from these offsets, exclusive; partitions without an entry have nothing more to show."""

    ends: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class After:
    """Forward from these offsets, inclusive."""

    starts: Mapping[int, int]


Start = Newest | Oldest | FromOffset | FromTimestamp | Before | After


class Span(NamedTuple):
    """What a partition holds: `low` is its first offset, `high` the one after its last."""

    low: int
    high: int


class Window(NamedTuple):
    """Offsets to read: `start` included, `end` not."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Page:
    messages: tuple[Message, ...]
    newest_first: bool
    next: Before | After | None
    """Where the following page starts; None when this was the last one."""
    complete: bool = True
    """False when the deadline or the byte limit came before all records did."""


@dataclass(slots=True)
class Found:
    """What was read of one partition, in offset order, and the offsets that were looked through for it."""

    window: Window
    messages: list[Message] = field(default_factory=list)
    trimmed: bool = False
    """Some records of the window were read and dropped again, or not read at all."""


def is_backward(start: Start) -> bool:
    return isinstance(start, Newest | Before)


def share_of(limit: int, partitions: int) -> int:
    """How many records to read of each partition so that the total stays bounded."""
    return max(1, min(limit, RECORDS_READ_MAX // max(1, partitions)))


def first_windows(start: Start, spans: Mapping[int, Span], wanted: int) -> dict[int, Window]:
    """The offsets to read of each partition.

    `FromTimestamp` must have become `After` before (it takes a broker to do so).
    """
    match start:
        case Newest():
            return {p: Window(max(s.low, s.high - wanted), s.high) for p, s in spans.items()}
        case Before(ends):
            clamped = {p: _clamp(end, spans[p]) for p, end in ends.items() if p in spans}
            return {p: Window(max(spans[p].low, end - wanted), end) for p, end in clamped.items()}
        case Oldest():
            return {p: Window(s.low, s.high) for p, s in spans.items()}
        case FromOffset(offset):
            return {p: Window(_clamp(offset, s), s.high) for p, s in spans.items()}
        case After(starts):
            clamped = {p: _clamp(begin, spans[p]) for p, begin in starts.items() if p in spans}
            return {p: Window(begin, spans[p].high) for p, begin in clamped.items()}
        case FromTimestamp():
            raise TypeError("a timestamp is resolved to offsets before windows are made")


def earlier_window(window: Window, span: Span, factor: int = 8) -> Window | None:
    """What to read next when a backward window held too few records (compaction and markers leave gaps)."""
    if window.start <= span.low:
        return None
    width = max(1, window.end - window.start) * factor
    return Window(max(span.low, window.start - width), window.start)


def merge(found: Mapping[int, Found], limit: int, *, backward: bool) -> list[Message]:
    """Up to `limit` messages, always taking the newest (or oldest) of the partitions' heads."""
    queues = {p: (f.messages[::-1] if backward else f.messages) for p, f in found.items() if f.messages}
    positions = dict.fromkeys(queues, 0)
    sign = -1 if backward else 1
    merged: list[Message] = []
    while positions and len(merged) < limit:
        best = min(positions, key=lambda p: (sign * _time_of(queues[p][positions[p]]), p))
        merged.append(queues[best][positions[best]])
        positions[best] += 1
        if positions[best] == len(queues[best]):
            del positions[best]
    return merged


def interleaved(messages: Sequence[Message]) -> list[Message]:
    """Messages of several partitions with the oldest head first; the order within each partition is kept."""
    found: dict[int, Found] = {}
    for message in messages:
        found.setdefault(message.partition, Found(Window(0, 0))).messages.append(message)
    return merge(found, len(messages), backward=False)


def next_start(
    found: Mapping[int, Found], shown: Sequence[Message], spans: Mapping[int, Span], *, backward: bool
) -> Before | After | None:
    """Where the following page starts, or None when every partition has been shown to its end."""
    offsets: dict[int, list[int]] = {}
    for message in shown:
        offsets.setdefault(message.partition, []).append(message.offset)
    if backward:
        ends = {p: _backward_position(f, offsets.get(p, [])) for p, f in found.items()}
        left = {p: end for p, end in ends.items() if end > spans[p].low}
        return Before(left) if left else None
    starts = {p: _forward_position(f, offsets.get(p, [])) for p, f in found.items()}
    more = any(begin < spans[p].high for p, begin in starts.items())
    return After(starts) if more else None


def _backward_position(found: Found, shown: list[int]) -> int:
    if len(shown) == len(found.messages) and not found.trimmed:
        return found.window.start
    return min(shown, default=found.window.end)


def _forward_position(found: Found, shown: list[int]) -> int:
    if len(shown) == len(found.messages) and not found.trimmed:
        return found.window.end
    return max(shown, default=found.window.start - 1) + 1


def _clamp(offset: int, span: Span) -> int:
    return min(max(offset, span.low), span.high)


def _time_of(message: Message) -> int:
    return -1 if message.timestamp_ms is None else message.timestamp_ms
