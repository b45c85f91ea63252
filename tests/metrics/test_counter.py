"""Counts are exact without a lock, however often threads are switched."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from penstock.metrics.counter import Counter
from penstock.metrics.histogram import Histogram
from penstock.metrics.traffic import Traffic

THREADS = 8
EACH = 20_000


@pytest.fixture
def _restless() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_restless")
def test_no_addition_is_lost_when_many_threads_add() -> None:
    counter, histogram, traffic = Counter(), Histogram(), Traffic()

    def add() -> None:
        for number in range(EACH):
            counter.add(3)
            histogram.record(number / 1_000_000)
            produced(traffic, "t", 100, 2)

    threads = [threading.Thread(target=add) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.value == 3 * THREADS * EACH
    assert histogram.count == THREADS * EACH
    assert histogram.sum_seconds == pytest.approx(THREADS * sum(range(EACH)) / 1_000_000)
    assert (traffic.total("bytes_in"), traffic.total("messages_in")) == (
        100 * THREADS * EACH,
        2 * THREADS * EACH,
    )


def produced(traffic: Traffic, topic: str, size_bytes: int, records: int) -> None:
    """As the handler of Produce counts."""
    counts = traffic.of(topic)
    counts.produce_requests += 1
    counts.bytes_in += size_bytes
    counts.messages_in += records
