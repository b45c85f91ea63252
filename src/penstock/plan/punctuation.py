"""Punctuators: functions that are called when stream time or the wall clock has passed an interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class _Scheduled:
    due: int
    interval: int
    kind: str
    callback: Callable[[int], None]
    node: str
    cancelled: bool = False


class Punctuators:
    def __init__(self) -> None:
        self._scheduled: list[_Scheduled] = []

    def schedule(
        self, interval: int, kind: str, callback: Callable[[int], None], now_ms: int, node: str = ""
    ) -> Callable[[], None]:
        """Call back in every interval. A punctuator of stream time is aligned to the epoch and due at once;
        one of the wall clock is due an interval from now.
        """
        due = 0 if kind == "stream_time" else now_ms + interval
        scheduled = _Scheduled(due, interval, kind, callback, node)
        self._scheduled.append(scheduled)

        def cancel() -> None:
            scheduled.cancelled = True

        return cancel

    @property
    def dues(self) -> dict[str, int]:
        """When each is due next, by its turn among those that were scheduled when the task was made."""
        return {str(turn): one.due for turn, one in enumerate(self._scheduled)}

    def load(self, dues: dict[str, int]) -> None:
        """Go on as an earlier task of the same plan; what it scheduled later than at its start is gone."""
        for turn, one in enumerate(self._scheduled):
            one.due = dues.get(str(turn), one.due)

    def shortest(self, kind: str) -> int | None:
        """The shortest interval of a kind; none if nothing is scheduled."""
        return min((one.interval for one in self._scheduled if one.kind == kind), default=None)

    def run(self, kind: str, time: int) -> None:
        """Call what is due. After a gap each is called once, not once for every interval missed."""
        if not self._scheduled:
            return
        while due := [
            one for one in self._scheduled if one.kind == kind and one.due <= time and not one.cancelled
        ]:
            first = min(due, key=lambda one: one.due)
            first.callback(time)
            missed = max(0, (time - first.due) // first.interval)
            first.due += (missed + 1) * first.interval
        self._scheduled = [one for one in self._scheduled if not one.cancelled]
