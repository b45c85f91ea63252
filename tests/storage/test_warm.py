"""Which segments stay warm: the ones used last, within both bounds."""

from __future__ import annotations

from penstock.storage.warm import WarmSegments


class Recorder:
    def __init__(self) -> None:
        self.cooled = 0

    def cool(self) -> None:
        self.cooled += 1


def test_the_least_recently_used_is_cooled_when_there_are_too_many() -> None:
    warm = WarmSegments(max_segments=2)
    first, second, third = Recorder(), Recorder(), Recorder()
    for segment in (first, second, first, third):
        warm.touch(segment, 10)
    assert [segment.cooled for segment in (first, second, third)] == [0, 1, 0]


def test_indexes_are_bounded_by_their_bytes() -> None:
    warm = WarmSegments(max_index_bytes=100)
    first, second = Recorder(), Recorder()
    warm.touch(first, 60)
    warm.touch(first, 70)
    warm.touch(second, 40)
    assert (first.cooled, second.cooled, len(warm)) == (1, 0, 1)


def test_the_one_in_use_stays_however_large_it_is() -> None:
    warm = WarmSegments(max_index_bytes=100)
    only = Recorder()
    warm.touch(only, 1000)
    assert only.cooled == 0


def test_a_forgotten_segment_is_neither_counted_nor_cooled() -> None:
    warm = WarmSegments(max_segments=1)
    first, second = Recorder(), Recorder()
    warm.touch(first, 10)
    warm.forget(first)
    warm.touch(second, 10)
    assert (first.cooled, len(warm)) == (0, 1)
