"""Bounds of pull queries: a second's number, how many at a time, and an hour's bytes."""

from __future__ import annotations

import pytest

from penstock.sqlserver.errors import KsqlError
from penstock.sqlserver.pull_limits import PullLimits
from penstock.sqlserver.settings import read_settings

PREFIX = "ksql.query.pull.max."


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def limits(clock: Clock, **given: str) -> PullLimits:
    texts = {PREFIX + name.replace("_", "."): value for name, value in given.items()}
    return PullLimits(read_settings("localhost:9092", texts), clock)


def test_a_second_has_room_for_so_many() -> None:
    clock = Clock()
    made = limits(clock, qps="2")
    for _ in range(2):
        made.begin()
    with pytest.raises(KsqlError, match="Currently set to 2 qps") as refused:
        made.begin()
    assert (refused.value.status, refused.value.error_code) == (429, 42900)
    clock.now += 0.5
    made.begin()
    clock.now += 60
    for _ in range(2):
        made.begin()
    with pytest.raises(KsqlError):
        made.begin()


def test_so_many_run_at_a_time() -> None:
    made = limits(Clock(), concurrent_requests="1")
    made.begin()
    with pytest.raises(KsqlError, match="maximum 1 concurrent requests"):
        made.begin()
    made.end()
    made.begin()


def test_an_hour_has_room_for_so_many_bytes() -> None:
    clock = Clock()
    made = limits(clock, hourly_bandwidth_megabytes="1")
    for _ in range(3):
        made.sent(500_000)
    with pytest.raises(KsqlError, match="bandwidth"):
        made.begin()
    clock.now += 3601
    made.begin()
