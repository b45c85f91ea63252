"""Which tasks of a connector have failed, and when they start again by themselves. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

LONGEST_REST_S: Final = 60.0
"""A failed task rests no longer than this, unless its first rest is longer."""


@dataclass
class Failure:
    """A task that failed, and when it may start again by itself."""

    restarts: int
    again_at: float | None


@dataclass
class TaskStates:
    """Failures in a row are counted: a batch that succeeds forgets those before it."""

    restarts_max: int
    delay_s: float
    failures: dict[int, Failure] = field(default_factory=dict)
    history: dict[int, int] = field(default_factory=dict)

    def fail(self, number: int, now: float) -> None:
        count = self.history.get(number, 0)
        self.failures[number] = Failure(count, now + self.rest_s(count) if self.allows(count) else None)

    def succeed(self, number: int) -> None:
        self.history.pop(number, None)

    def allows(self, restarts: int) -> bool:
        """Whether there may be one more after so many."""
        return restarts < self.restarts_max

    def rest_s(self, restarts: int) -> float:
        """How long a failed task rests: twice as long each time, up to a bound."""
        longest = max(LONGEST_REST_S, self.delay_s)
        return min(longest, self.delay_s * 2.0 ** min(restarts, 30))

    def due(self, now: float) -> list[int]:
        """Tasks that start again by themselves; they are no longer failed."""
        found = [
            n
            for n, failure in self.failures.items()
            if failure.again_at is not None and failure.again_at <= now
        ]
        for number in found:
            self.history[number] = self.failures.pop(number).restarts + 1
        return found

    def restart(self, number: int) -> None:
        self.failures.pop(number, None)
        self.history.pop(number, None)
