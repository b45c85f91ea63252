"""A clock that stands still until it is moved."""

from __future__ import annotations


class ManualClock:
    """Both clocks move together."""

    def __init__(self) -> None:
        self.ms = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        return self.ms / 1000
