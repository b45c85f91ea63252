"""How long things take: counts in buckets that grow with the duration, so memory is bounded.

A bucket is at most a quarter as wide as its durations are long: percentiles are right to an eighth. They are
of the last five to ten minutes, as long as `rotate` is called every five; count and sum are of all time.
`record` takes no lock, and is exact for the reason that `metrics.counter` gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

WINDOW_SECONDS: Final = 300.0
_MOST_BITS: Final = 40  # of microseconds: twelve days
BUCKETS: Final = (_MOST_BITS - 1) * 4


class Histogram:
    __slots__ = ("_before", "_counts", "_earlier", "sum_seconds")

    def __init__(self) -> None:
        self.sum_seconds = 0.0
        self._counts = [0] * BUCKETS
        self._before: Sequence[int] = (0,) * BUCKETS  # the counts when this window began
        self._earlier: Sequence[int] = (0,) * BUCKETS  # when the window before began

    def record(self, seconds: float, weight: int = 1) -> None:
        """`weight` is how many durations this one stands for, when not every one is measured."""
        micros = int(seconds * 1_000_000)
        bits = micros.bit_length()
        if bits <= 2:
            bucket = micros if micros > 0 else 0
        else:
            bucket = bits * 4 - 8 + (micros >> bits - 3 & 3) if bits <= _MOST_BITS else BUCKETS - 1
        self._counts[bucket] += weight
        self.sum_seconds += seconds * weight

    def add(self, counts: Sequence[int], seconds: float) -> None:
        """Durations that were counted elsewhere, in the same buckets."""
        for bucket, count in enumerate(counts):
            if count:
                self._counts[bucket] += count
        self.sum_seconds += seconds

    @property
    def count(self) -> int:
        return sum(self._counts)

    def rotate(self) -> None:
        """A window ends and another begins."""
        self._earlier, self._before = self._before, tuple(self._counts)

    def recent(self) -> list[int]:
        """The counts of this window and the one before, by bucket."""
        return [now - then for now, then in zip(self._counts, self._earlier, strict=True)]


def percentiles(counts: Sequence[int], shares: Sequence[float]) -> list[float]:
    """For each share, such as 0.99, the seconds that so much of everything took at most; 0 for nothing."""
    total, found, seen, bucket = sum(counts), list[float](), 0, -1
    for share in sorted(shares):
        wanted = share * total
        while seen < wanted:
            bucket += 1
            seen += counts[bucket]
        found.append(middle_seconds(bucket) if total else 0.0)
    return found


def middle_seconds(bucket: int) -> float:
    """The middle of a bucket."""
    if bucket < 8:
        return bucket / 1_000_000
    shift = bucket // 4 - 1
    low = (bucket % 4 + 4) << shift
    return (low + (1 << shift) / 2) / 1_000_000
