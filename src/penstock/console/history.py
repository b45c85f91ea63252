"""What was measured over the last hour, for the charts: a bounded ring for each name. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

POINTS = 360
SERIES_MAX = 4_000


class History:
    """One moment for all series: a name that is missing at a moment has a gap there."""

    def __init__(self, points: int = POINTS) -> None:
        self._moments: deque[float] = deque(maxlen=points)
        self._values: dict[str, deque[float | None]] = {}
        self._points = points

    def add(self, at: float, values: Mapping[str, float | None]) -> None:
        self._moments.append(at)
        for name, value in values.items():
            if name not in self._values:
                if len(self._values) >= SERIES_MAX:
                    continue
                gap = [None] * (len(self._moments) - 1)
                self._values[name] = deque(gap, maxlen=self._points)
            self._values[name].append(value)
        for name in self._values.keys() - values.keys():
            self._values[name].append(None)
        for name in [name for name, series in self._values.items() if not any_known(series)]:
            del self._values[name]

    @property
    def moments(self) -> list[float]:
        return list(self._moments)

    def series(self, names: Iterable[str]) -> dict[str, list[float | None]]:
        """Those that are known; each as long as `moments`."""
        return {name: list(self._values[name]) for name in names if name in self._values}


def any_known(series: Iterable[float | None]) -> bool:
    return any(value is not None for value in series)
