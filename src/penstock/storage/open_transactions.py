"""The transactions of one log that readers of committed records must not look into yet.

Open ones have no marker; decided ones have, but above the high watermark: another leader may not know how
they ended. The first offset of the oldest bounds the last stable offset. Told by
`penstock.storage.producers`.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple


class Ended(NamedTuple):
    """A transaction that has just got its marker."""

    first_offset: int
    last_stable_offset: int
    """As it is now that this transaction is over, the high watermark left aside."""


class OpenTransactions:
    """By producer id. Invariant: first offsets ascend in the order of `_open`, for all begin at the log's
    end."""

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        self._decided: deque[tuple[int, int]] = deque()  # first offset, offset of the marker; by the latter

    def clear(self) -> None:
        self._open.clear()
        self._decided.clear()

    def begin(self, producer_id: int, offset: int) -> None:
        """The producer writes at `offset`; nothing happens when its transaction has begun before."""
        self._open.setdefault(producer_id, offset)

    def end(self, producer_id: int, marker_offset: int) -> Ended | None:
        """The marker was written; None when there was no transaction that it could end."""
        first_offset = self._open.pop(producer_id, None)
        if first_offset is None:
            return None
        self._decided.append((first_offset, marker_offset))
        return Ended(first_offset, next(iter(self._open.values()), marker_offset + 1))

    def first_offset(self, producer_id: int) -> int | None:
        """Where the producer's open transaction begins; None without one."""
        return self._open.get(producer_id)

    def commit(self, high_watermark: int) -> None:
        """Forget the decided ones whose markers are committed."""
        while self._decided and self._decided[0][1] < high_watermark:
            self._decided.popleft()

    def first_unstable(self) -> int | None:
        """The first offset of the oldest one; None when there is none."""
        oldest = next(iter(self._open.values()), None)
        if self._decided:
            decided = min(first for first, _ in self._decided)
            return decided if oldest is None else min(oldest, decided)
        return oldest
