"""Batches of a mirror take about two seconds, whatever they hold."""

from __future__ import annotations

import pytest

from penstock.spark.mirroring.pacing import FIRST, LEAST, WANTED_SECONDS, Pace

MOST = 5_000_000


class Copying:
    """Batches of a backlog at so many offsets a second, with a fixed cost each."""

    def __init__(self, rate: float, fixed_seconds: float = 0.25) -> None:
        self.now = 0.0
        self.rate = rate
        self.fixed_seconds = fixed_seconds
        self.pace = Pace(lambda: self.now)

    def batch(self, most: int = MOST, waiting: int = 10**9) -> tuple[int, float]:
        size = min(self.pace.limit(most), waiting)
        self.pace.planned(size)
        seconds = self.fixed_seconds + size / self.rate
        self.now += seconds
        return size, seconds


@pytest.mark.parametrize("rate", [2_000, 50_000, 1_000_000])
def test_full_batches_come_to_take_about_as_long_as_wanted(rate: int) -> None:
    copying = Copying(rate)
    for _ in range(12):
        size, seconds = copying.batch()
    assert seconds == pytest.approx(WANTED_SECONDS, rel=0.2)
    assert LEAST <= size <= MOST


def test_the_setting_is_the_bound_and_a_batch_is_never_empty() -> None:
    fast, slow = Copying(10**9), Copying(1.0)
    assert [fast.batch(2000)[0] for _ in range(5)] == [2000] * 5
    assert max(fast.batch()[0] for _ in range(20)) == MOST
    assert [slow.batch()[0] for _ in range(9)][-1] == LEAST


def test_batches_that_are_not_full_say_nothing() -> None:
    copying = Copying(1_000_000)
    for _ in range(5):
        copying.batch(waiting=10)
    assert copying.pace.limit(MOST) == FIRST
    copying.pace.planned(0)
    copying.now += 3600  # idle
    assert copying.pace.limit(MOST) == FIRST


def test_one_slow_batch_makes_the_next_smaller_and_no_more() -> None:
    copying = Copying(1_000_000)
    size, _ = copying.batch()
    copying.now += 600
    assert copying.batch()[0] == size // 4
    assert copying.batch()[0] > size // 4
