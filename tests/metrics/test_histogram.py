"""Percentiles of durations within bounded memory, of the last minutes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.metrics.histogram import BUCKETS, Histogram, middle_seconds, percentiles


@given(st.floats(0, 1e6))
def test_a_percentile_is_right_to_an_eighth(seconds: float) -> None:
    histogram = Histogram()
    histogram.record(seconds)
    (found,) = percentiles(histogram.recent(), [0.99])
    assert found == pytest.approx(seconds, rel=0.125, abs=1.1e-6)


def test_what_lasts_longer_than_anybody_waits_is_in_the_last_bucket() -> None:
    histogram = Histogram()
    histogram.record(1e9)
    assert histogram.recent()[-1] == 1
    assert histogram.sum_seconds == 1e9


def test_a_clock_that_stood_still_is_no_time() -> None:
    histogram = Histogram()
    histogram.record(0.0)
    assert percentiles(histogram.recent(), [0.5]) == [0.0]


def test_percentiles_of_many() -> None:
    histogram = Histogram()
    for number in range(1, 1001):
        histogram.record(number / 1000)
    half, most = percentiles(histogram.recent(), [0.5, 0.99])
    assert half == pytest.approx(0.5, rel=0.125)
    assert most == pytest.approx(0.99, rel=0.125)
    assert histogram.count == 1000
    assert histogram.sum_seconds == pytest.approx(500.5)


def test_nothing_has_percentiles_of_zero() -> None:
    assert percentiles(Histogram().recent(), [0.5, 0.99]) == [0.0, 0.0]


def test_percentiles_forget_after_two_windows_and_counts_do_not() -> None:
    histogram = Histogram()
    histogram.record(1.0)
    histogram.rotate()
    histogram.record(0.001)
    assert sum(histogram.recent()) == 2
    histogram.rotate()
    assert sum(histogram.recent()) == 1
    assert percentiles(histogram.recent(), [0.99])[0] == pytest.approx(0.001, rel=0.125)
    histogram.rotate()
    assert sum(histogram.recent()) == 0
    assert histogram.count == 2


def test_buckets_grow() -> None:
    middles = [middle_seconds(bucket) for bucket in range(BUCKETS)]
    assert middles == sorted(set(middles))
