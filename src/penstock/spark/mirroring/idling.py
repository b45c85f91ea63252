"""When a batch is worth its cost. Spark asks a source for news every 10 ms; a mirror with none would spend
half a core on the asking. So the answer waits here, where looking costs one small request.

Everything is decided by the offsets that `MirrorReader` hands over: this module asks no cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

LOOKS: Final = 10
"""Looks at known partitions before the topics of both sides are looked at again, and Spark gets its turn."""
PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 0.5
SHARE: Final = 9
"""Pauses are so many times as long as looks, within bounds: with many partitions a look is not cheap."""
UNHURRIED_SECONDS: Final = 5.0
"""How long heartbeats wait for something to go with: a batch for each would never let a mirror rest."""


class Patience:
    """Says whether a batch is due. One for each reader, and one thread."""

    def __init__(self, may_wait: Callable[[str], bool], clock: Callable[[], float]) -> None:
        """`may_wait` says of a topic of the source that its records are in no hurry."""
        self._may_wait = may_wait
        self._clock = clock
        self._since: float | None = None
        """When the records were first seen that are in no hurry and not copied yet."""

    def is_due(self, start: Mapping[str, object], end: Mapping[str, object]) -> bool:
        """Whether a batch from `start` to `end`, both by topic, should run now."""
        different = [topic for topic, offsets in end.items() if start.get(topic) != offsets]
        hurried = any(not self._may_wait(topic) for topic in different)
        if hurried or not different:
            self._since = None
            return hurried
        now = self._clock()
        if self._since is None:
            self._since = now
        due = now - self._since >= UNHURRIED_SECONDS
        if due:
            self._since = None
        return due


def pause_after(look_seconds: float) -> float:
    return min(LONGEST_PAUSE_SECONDS, max(PAUSE_SECONDS, SHARE * look_seconds))
