"""Which sealed segments have their file open and their indexes in memory, for all logs of a broker.

A broker has many more segments than descriptors. Those used least recently are cooled: they let go of file
and indexes and get them back when they are read again. A slice that is being sent keeps its file open by
itself. The active segment of a log is never in here.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Protocol

DEFAULT_MAX_SEGMENTS = 512
DEFAULT_MAX_INDEX_BYTES = 32 * 1024 * 1024


class Coolable(Protocol):
    def cool(self) -> None:
        """Let go of what can be had again."""
        ...


class WarmSegments:
    """The warm ones, least recently used first, bounded by number and by the bytes of their indexes."""

    def __init__(
        self, max_segments: int = DEFAULT_MAX_SEGMENTS, max_index_bytes: int = DEFAULT_MAX_INDEX_BYTES
    ) -> None:
        self._max_segments = max_segments
        self._max_index_bytes = max_index_bytes
        self._index_bytes = 0
        self._warm: OrderedDict[Coolable, int] = OrderedDict()
        # Logs are guarded by a lock each; this is shared between them.
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._warm)

    def touch(self, segment: Coolable, index_bytes: int) -> None:
        """`segment` was used just now and holds indexes of this size."""
        with self._lock:
            self._index_bytes += index_bytes - self._warm.get(segment, 0)
            self._warm[segment] = index_bytes
            self._warm.move_to_end(segment)
            while len(self._warm) > 1 and (
                len(self._warm) > self._max_segments or self._index_bytes > self._max_index_bytes
            ):
                coolest, freed = self._warm.popitem(last=False)
                self._index_bytes -= freed
                coolest.cool()

    def forget(self, segment: Coolable) -> None:
        """`segment` is deleted or active again."""
        with self._lock:
            self._index_bytes -= self._warm.pop(segment, 0)
