"""Which windows hold a time, and which windows cannot be."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.windows import (
    FOREVER,
    JoinWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)


@given(st.integers(1, 50), st.integers(1, 50), st.integers(0, 500))
def test_the_windows_of_a_time_are_those_that_hold_it(size: int, advance: int, time: int) -> None:
    advance = min(advance, size)
    starts = list(TimeWindows(size, advance=advance).starts(time))
    assert starts == [start for start in range(0, time + 1, advance) if start <= time < start + size]


def test_durations_may_be_time_deltas() -> None:
    windows = TimeWindows(timedelta(seconds=5), advance=timedelta(seconds=1), grace=timedelta(milliseconds=7))
    assert (windows.size_ms, windows.advance_ms, windows.grace_ms) == (5000, 1000, 7)
    assert windows == TimeWindows(5000, advance=1000, grace=7)


def test_an_unlimited_window_begins_where_it_says_and_never_ends() -> None:
    assert list(UnlimitedWindows(10).starts(9)) == []
    assert list(UnlimitedWindows(10).starts(99)) == [10]
    assert UnlimitedWindows().size_ms == FOREVER


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: TimeWindows(0), "size is 0 ms; it must be at least 1 ms"),
        (lambda: TimeWindows(5, advance=6), "advance is 6 ms; it must be at most the size, 5 ms"),
        (lambda: TimeWindows(5, advance=0), "advance is 0 ms"),
        (lambda: TimeWindows(5, grace=-1), "grace is -1 ms"),
        (lambda: SlidingWindows(-1), "difference is -1 ms"),
        (lambda: SessionWindows(0), "gap is 0 ms"),
        (lambda: JoinWindows(-5, after=4), "ends before it begins"),
    ],
)
def test_windows_that_cannot_be_are_refused(make: object, sentence: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=sentence):
        make()


def test_stores_keep_windows_for_as_long_as_records_may_need_them() -> None:
    assert TimeWindows(10, grace=5).retention_ms == 15
    assert SlidingWindows(10, grace=5).retention_ms == 25
    assert SessionWindows(10, grace=5).retention_ms == 15
    assert JoinWindows(10, after=3, grace=5).retention_ms == 18
