"""How long something may take in all, and the pauses between attempts within it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from penstock.clock import Clock, SystemClock
from penstock.wire.errors import DeadlineExceeded, WireError

T = TypeVar("T")

FIRST_PAUSE_SECONDS: Final = 0.02
LONGEST_PAUSE_SECONDS: Final = 1.0


class Deadline:
    """A point in time, made from a number of seconds from now."""

    __slots__ = ("_clock", "_end", "seconds")

    def __init__(self, seconds: float, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self.seconds = seconds
        self._end = self._clock.monotonic() + seconds

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._end - self._clock.monotonic())

    @property
    def passed(self) -> bool:
        return self.remaining() == 0.0

    def sooner(self, seconds: float) -> Deadline:
        """A deadline in `seconds`, or this one when it comes first."""
        return Deadline(min(seconds, self.remaining()), self._clock)

    def pause(self, attempt: int) -> None:
        """Wait before the next attempt: longer each time, up to a second, never beyond the deadline."""
        time.sleep(min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(attempt, 10), self.remaining()))


def retrying(
    deadline: Deadline,
    what: str,
    attempt: Callable[[], T],
    between: Callable[[WireError], None] | None = None,
) -> T:
    """The first result of `attempt` that is not a retriable error; `between` may act on such an error."""
    number = 0
    while True:
        try:
            return attempt()
        except WireError as error:
            if not error.retriable:
                raise
            if between is not None:
                between(error)
            if deadline.passed:
                raise DeadlineExceeded(f"{what}: not done in {deadline.seconds:.0f} s: {error}") from error
        deadline.pause(number)
        number += 1
