"""Seconds behind, from the ends of a partition seen now and then."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.console.lag_times import SIGHTS_MAX, Behind, LagTimes

AT = ("orders", 0)


def seen(*sights: tuple[float, int]) -> LagTimes:
    times = LagTimes()
    for moment, end in sights:
        times.see({AT: end}, moment)
    return times


def test_a_group_at_the_end_is_not_behind() -> None:
    assert seen((0, 10)).behind(AT, 10, 10, 100) == Behind(0.0, True)


def test_an_offset_between_two_sights_lies_between_their_moments() -> None:
    times = seen((0, 0), (10, 100), (20, 200))
    assert times.behind(AT, 150, 200, 20) == Behind(5.0, True)
    assert times.behind(AT, 0, 200, 20) == Behind(20.0, True)


def test_an_offset_from_before_the_first_sight_is_a_lower_bound() -> None:
    assert seen((0, 100), (10, 200)).behind(AT, 40, 200, 30) == Behind(30.0, False)


def test_a_partition_that_was_never_seen_is_unknown_and_one_that_is_gone_forgotten() -> None:
    times = seen((0, 5))
    assert times.behind(("other", 0), 1, 5, 1) is None
    times.see({}, 1)
    assert times.behind(AT, 1, 5, 1) is None


def test_records_after_a_quiet_hour_are_not_an_hour_old() -> None:
    times = seen((0, 10), (1800, 10), (3600, 10), (3610, 20))
    behind = times.behind(AT, 11, 20, 3611)
    assert behind is not None
    assert behind.seconds <= 11


def test_a_topic_made_anew_begins_anew() -> None:
    assert seen((0, 1000), (10, 5)).behind(AT, 2, 5, 15) == Behind(5.0, False)


@given(st.lists(st.tuples(st.integers(3, 50), st.integers(0, 1000)), min_size=2, max_size=300))
def test_what_is_kept_is_bounded_and_lag_never_grows_with_the_offset(steps: list[tuple[int, int]]) -> None:
    times, moment, end = LagTimes(), 0.0, 0
    for wait, records in steps:
        moment, end = moment + wait, end + records
        times.see({AT: end}, moment)
    assert len(times._sights[AT][0]) <= SIGHTS_MAX
    offsets = range(0, end + 1, max(1, end // 50))
    found = [times.behind(AT, offset, end, moment) for offset in offsets]
    seconds = [each.seconds for each in found if each is not None]
    assert seconds == sorted(seconds, reverse=True)
    assert all(0 <= each <= moment for each in seconds)
