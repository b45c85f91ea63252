"""Time, handed in. Only `SystemClock` asks the machine, so that a simulator can own time."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks: the wall for timestamps that people see, the monotonic one for deadlines."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, UTC. May jump."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary point. Never goes back."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    monotonic = staticmethod(time.monotonic)  # not a method around it: each request asks several times
