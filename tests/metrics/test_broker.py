"""What a broker counts: rates go on with its ticks, windows of histograms every five minutes."""

from __future__ import annotations

import pytest

from penstock.metrics.broker import BrokerMetrics
from penstock.metrics.histogram import WINDOW_SECONDS, Histogram
from penstock.metrics.traffic import Traffic


def test_rates_follow_the_counts_when_time_passes() -> None:
    metrics = BrokerMetrics(0.0)
    produced(metrics.traffic, "t", 500, 5)
    metrics.isrs.changed(3, 2)
    metrics.isrs.changed(2, 3)
    metrics.isrs.changed(3, 3)
    metrics.tick(5.0)
    assert metrics.meter("bytes_in").rates == pytest.approx((100.0,) * 3)
    assert metrics.meter("shrinks").rates == pytest.approx((0.2,) * 3)
    assert (metrics.count("shrinks"), metrics.count("expands")) == (1, 1)


def test_windows_of_all_histograms_go_on_together() -> None:
    metrics, other = BrokerMetrics(0.0), Histogram()
    metrics.histograms.append(other)
    metrics.requests[0].served.record(0.1)
    other.record(0.1)
    metrics.tick(WINDOW_SECONDS)
    metrics.tick(WINDOW_SECONDS + 1)
    assert sum(other.recent()) == 1
    metrics.tick(2 * WINDOW_SECONDS)
    assert sum(other.recent()) == sum(metrics.requests[0].served.recent()) == 0


def produced(traffic: Traffic, topic: str, size_bytes: int, records: int) -> None:
    """As the handler of Produce counts."""
    counts = traffic.of(topic)
    counts.produce_requests += 1
    counts.bytes_in += size_bytes
    counts.messages_in += records
