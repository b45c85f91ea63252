"""Requests by API: total time is handling and waiting, and the purgatory's size is what waits now."""

from __future__ import annotations

from penstock.metrics.requests import Requests


def test_a_request_that_waits_is_in_the_purgatory_until_it_is_answered() -> None:
    fetches = Requests()[1]
    fetches.waits += 1
    assert fetches.waiting == 1
    fetches.ended_waiting(0.25, 0.5)
    assert fetches.waiting == 0
    assert sum(each.sum_seconds for each in fetches.total) == 0.75
    assert sum(each.sum_seconds for each in fetches.local) == 0.25
    assert fetches.remote.sum_seconds == 0.5


def test_a_wait_that_is_not_timed_leaves_the_purgatory_all_the_same() -> None:
    fetches = Requests()[1]
    fetches.waits += 1
    fetches.ended_waiting(0.0, 0.5, weight=0)
    assert fetches.waiting == 0
    assert sum(each.count for each in fetches.total) == 0


def test_a_request_that_stands_for_eight_counts_eight_times() -> None:
    fetches = Requests()[1]
    fetches.ended_waiting(0.25, 0.5, weight=8)
    assert fetches.remote.count == 8
    assert fetches.remote.sum_seconds == 4.0


def test_a_request_that_is_answered_at_once_has_its_local_time_as_total() -> None:
    requests = Requests()
    requests[0].served.record(0.125)
    assert sum(each.sum_seconds for each in requests[0].total) == 0.125
    assert sum(each.sum_seconds for each in requests[0].local) == 0.125
    assert list(requests) == [0]
