"""Windows: which ones a record belongs to, how long they wait for late records, how long a store keeps them.

Durations are milliseconds, or a `timedelta`; they are kept as milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

Duration = int | timedelta
FOREVER: Final = 2**63 - 1


def millis(duration: Duration) -> int:
    if isinstance(duration, timedelta):
        return duration // timedelta(milliseconds=1)
    return duration


def _checked(what: str, duration: Duration, *, least: int) -> int:
    value = millis(duration)
    if value < least:
        raise ValueError(f"{what} is {value} ms; it must be at least {least} ms")
    return value


class _Durations:
    """Turns the named fields into milliseconds when the window is made."""

    def _set(self, field: str, duration: Duration, least: int) -> None:
        object.__setattr__(self, field, _checked(field.removesuffix("_ms"), duration, least=least))


@dataclass(frozen=True)
class TimeWindows(_Durations):
    """Windows of one size, aligned to the epoch: tumbling, or hopping when `advance` is smaller than
    `size`.
    """

    size: Duration
    advance: Duration | None = None
    grace: Duration = 0

    def __post_init__(self) -> None:
        self._set("size", self.size, 1)
        self._set("advance", self.size if self.advance is None else self.advance, 1)
        self._set("grace", self.grace, 0)
        if self.advance_ms > self.size_ms:
            raise ValueError(
                f"advance is {self.advance_ms} ms; it must be at most the size, {self.size_ms} ms"
            )

    @property
    def size_ms(self) -> int:
        return millis(self.size)

    @property
    def advance_ms(self) -> int:
        assert self.advance is not None
        return millis(self.advance)

    @property
    def grace_ms(self) -> int:
        return millis(self.grace)

    @property
    def retention_ms(self) -> int:
        return self.size_ms + self.grace_ms

    def starts(self, timestamp: int) -> Sequence[int]:
        """Where the windows begin that hold this time, oldest first."""
        size, advance = self.size_ms, self.advance_ms
        return range(max(0, timestamp - size + advance) // advance * advance, timestamp + 1, advance)


@dataclass(frozen=True)
class UnlimitedWindows(_Durations):
    """One window from `start` on, which never closes."""

    start: int = 0

    size_ms = FOREVER
    grace_ms = 0
    retention_ms = FOREVER

    def __post_init__(self) -> None:
        self._set("start", self.start, 0)

    def starts(self, timestamp: int) -> Sequence[int]:
        return (self.start,) if timestamp >= self.start else ()


@dataclass(frozen=True)
class SlidingWindows(_Durations):
    """A window for each set of records that lie within `difference` of one another; both ends include."""

    difference: Duration
    grace: Duration = 0

    def __post_init__(self) -> None:
        self._set("difference", self.difference, 0)
        self._set("grace", self.grace, 0)

    @property
    def difference_ms(self) -> int:
        return millis(self.difference)

    @property
    def size_ms(self) -> int:
        return self.difference_ms

    @property
    def grace_ms(self) -> int:
        return millis(self.grace)

    @property
    def retention_ms(self) -> int:
        return 2 * self.difference_ms + self.grace_ms


@dataclass(frozen=True)
class SessionWindows(_Durations):
    """Sessions: records with less than `gap` between them belong together; both ends include."""

    gap: Duration
    grace: Duration = 0

    def __post_init__(self) -> None:
        self._set("gap", self.gap, 1)
        self._set("grace", self.grace, 0)

    @property
    def gap_ms(self) -> int:
        return millis(self.gap)

    @property
    def grace_ms(self) -> int:
        return millis(self.grace)

    @property
    def retention_ms(self) -> int:
        return self.gap_ms + self.grace_ms


@dataclass(frozen=True)
class JoinWindows(_Durations):
    """Records of two streams meet when the other one's time is from `before` earlier to `after` later."""

    before: Duration
    after: Duration | None = None
    grace: Duration = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "before", millis(self.before))
        object.__setattr__(self, "after", self.before if self.after is None else millis(self.after))
        self._set("grace", self.grace, 0)
        if self.before_ms + self.after_ms < 0:
            raise ValueError(
                f"the window ends before it begins: {self.before_ms} before, {self.after_ms} after"
            )

    @property
    def before_ms(self) -> int:
        return millis(self.before)

    @property
    def after_ms(self) -> int:
        assert self.after is not None
        return millis(self.after)

    @property
    def grace_ms(self) -> int:
        return millis(self.grace)

    @property
    def size_ms(self) -> int:
        return self.before_ms + self.after_ms

    @property
    def retention_ms(self) -> int:
        return self.size_ms + self.grace_ms


AnyTimeWindows = TimeWindows | UnlimitedWindows
GroupWindows = TimeWindows | UnlimitedWindows | SlidingWindows | SessionWindows
