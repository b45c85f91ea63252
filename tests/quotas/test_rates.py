"""Rates and token buckets: Kafka's figures for the same events."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.quotas.rates import Rate, TokenBucket, Window

KAFKAS = Window(11, 1000)


def test_a_client_that_has_just_come_is_measured_over_the_whole_window() -> None:
    rate = Rate(KAFKAS)
    rate.record(1000, 0)
    assert rate.per_second(0) == 100
    assert rate.window_ms(0) == 10_000


def test_the_window_is_ten_whole_samples_and_the_begun_one() -> None:
    rate = Rate(KAFKAS)
    for second in range(11):
        rate.record(100, second * 1000)
    assert rate.window_ms(10_500) == 10_500
    assert rate.per_second(10_500) == pytest.approx(1100 / 10.5)


def test_what_is_older_than_the_window_does_not_count() -> None:
    rate = Rate(KAFKAS)
    rate.record(1_000_000, 0)
    assert rate.per_second(10_999) > 0
    assert rate.per_second(11_000) == 0


def test_the_delay_brings_the_rate_down_to_the_limit() -> None:
    """The example of Kafka's QuotaUtils: X = (O - T) / T * W."""
    rate = Rate(Window(10, 1000))
    rate.record(500, 0)
    delay_ms = rate.throttle_ms(10, 0)
    assert delay_ms == round((500 / 9 - 10) / 10 * 9000)
    assert rate.throttle_ms(500 / 9, 0) == 0


def test_what_is_taken_back_was_never_there() -> None:
    rate = Rate(KAFKAS)
    rate.record(700, 0)
    rate.record(300, 0)
    rate.record(-300, 0)
    assert rate.per_second(0) == 70


@given(
    st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 1000)), min_size=1, max_size=60),
    st.integers(1, 500),
)
def test_whoever_is_above_the_limit_waits_and_a_window_of_silence_forgives_everything(
    events: list[tuple[int, int]], limit: int
) -> None:
    rate, now_ms = Rate(KAFKAS), 0
    for pause_ms, size in events:
        now_ms += pause_ms
        rate.record(size, now_ms)
        over = rate.per_second(now_ms) - limit
        assert rate.throttle_ms(limit, now_ms) == max(0, round(over / limit * rate.window_ms(now_ms)))
    assert rate.throttle_ms(limit, now_ms + KAFKAS.samples * KAFKAS.sample_ms) == 0


def test_a_bucket_gives_a_burst_and_may_be_overdrawn_once() -> None:
    bucket = TokenBucket(KAFKAS)
    assert bucket.tokens(5, 1_000_000) == 55
    bucket.take(60, 5, 1_000_000)
    assert bucket.tokens(5, 1_000_000) == -5
    assert bucket.throttle_ms(5, 1_000_000) == 1000
    assert bucket.throttle_ms(5, 1_000_999) == 1
    assert bucket.throttle_ms(5, 1_001_000) == 0


def test_a_bucket_is_never_fuller_than_its_burst() -> None:
    bucket = TokenBucket(KAFKAS)
    bucket.take(1, 5, 0)
    assert bucket.tokens(5, 3_600_000) == 55
