"""What the options of a reset mean in offsets."""

from __future__ import annotations

import pytest

from penstock.client.targets import Places, Target

HERE, THERE = ("in", 0), ("in", 1)
PLACES = Places(
    first={HERE: 5, THERE: 0}, end={HERE: 100, THERE: 10}, committed={HERE: 50}, at_time={HERE: 70}
)


@pytest.mark.parametrize(
    ("target", "here", "there"),
    [
        (Target(), 5, 0),
        (Target(latest=True), 100, 10),
        (Target(timestamp_ms=1), 70, 10),  # nothing is as new as that in the other partition
        (Target(offset=42), 42, 10),
        (Target(offset=2), 5, 2),
        (Target(shift_by=-20), 30, 0),
        (Target(shift_by=80), 100, 10),
        (Target(shift_by=3), 53, 3),  # what was never committed is shifted from its beginning
    ],
)
def test_every_target_stays_inside_the_log(target: Target, here: int, there: int) -> None:
    assert target.offsets(PLACES) == {HERE: here, THERE: there}
