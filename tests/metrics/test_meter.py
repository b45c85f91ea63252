"""Rates over one, five and fifteen minutes, as Kafka's meters give them."""

from __future__ import annotations

import math

import pytest

from penstock.metrics.meter import INTERVAL_SECONDS, Meter


def test_before_the_first_interval_there_is_no_rate() -> None:
    meter = Meter(100.0)
    meter.tick(50, 104.9)
    assert meter.rates == (0.0, 0.0, 0.0)


def test_the_first_interval_gives_all_rates() -> None:
    meter = Meter(100.0)
    meter.tick(50, 105.0)
    assert meter.rates == (10.0, 10.0, 10.0)


def test_a_steady_flow_has_a_steady_rate_whenever_it_is_looked_at() -> None:
    meter, now = Meter(0.0), 0.0
    for step in (5.0, 5.0, 5.0, 5.0):
        now += step
        meter.tick(now * 7, now)
    assert meter.rates == pytest.approx((7.0, 7.0, 7.0))
    assert meter.mean(now * 7, now) == 7.0


def test_after_a_quiet_minute_the_rates_have_fallen_by_their_weights() -> None:
    meter = Meter(0.0)
    meter.tick(100, 5.0)
    meter.tick(100, 5.0 + 60.0)
    one, five, fifteen = meter.rates
    assert one == pytest.approx(20 * math.exp(-1))
    assert five == pytest.approx(20 * math.exp(-1 / 5))
    assert fifteen == pytest.approx(20 * math.exp(-1 / 15))


def test_what_came_while_nobody_looked_counts_once() -> None:
    meter = Meter(0.0)
    meter.tick(10, 5.0)
    meter.tick(10 + 50, 5.0 + 3 * INTERVAL_SECONDS)
    other = Meter(0.0)
    for count, now in ((10, 5.0), (60, 10.0), (60, 15.0), (60, 20.0)):
        other.tick(count, now)
    assert meter.rates == pytest.approx(other.rates)


def test_a_machine_that_slept_for_weeks_is_looked_at_at_once() -> None:
    meter = Meter(0.0)
    meter.tick(10, 5.0)
    meter.tick(10, 1e9)
    assert meter.rates == pytest.approx((0.0, 0.0, 0.0), abs=1e-4)
