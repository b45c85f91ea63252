"""How often a service that died is started again, and how long to wait before. Arithmetic only."""

from __future__ import annotations

from collections import deque
from typing import Final

FIRST_DELAY_S: Final = 0.5
DELAY_MAX_S: Final = 30.0
DEATHS_MAX: Final = 5
"""Deaths within the window after which a service is not started again."""
WINDOW_S: Final = 600.0


class Restarts:
    """The deaths of one service."""

    def __init__(self) -> None:
        self._deaths: deque[float] = deque(maxlen=DEATHS_MAX)

    def delay_after_death(self, now_s: float) -> float | None:
        """Seconds until the next start; None when the service died too often."""
        while self._deaths and self._deaths[0] <= now_s - WINDOW_S:
            self._deaths.popleft()
        self._deaths.append(now_s)
        if len(self._deaths) == DEATHS_MAX:
            return None
        delay: float = FIRST_DELAY_S * 2 ** (len(self._deaths) - 1)
        return min(DELAY_MAX_S, delay)
