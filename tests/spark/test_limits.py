"""How much a batch reads and how it is cut: arithmetic, tried on many shapes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.protocol.topic_partition import TopicPartition
from penstock.spark.limits import Minimum, OffsetRange, limited, split

A, B, C = (TopicPartition("t", number) for number in range(3))


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now

    def now_ms(self) -> int:
        return int(self.now * 1000)


def test_a_limit_is_shared_by_size_and_starves_nobody() -> None:
    start, end = {A: 0, B: 100, C: 5}, {A: 1000, B: 101, C: 5}
    assert limited(start, end, 100) == {A: 99, B: 101, C: 5}
    assert limited(start, end, 5000) == end


def test_a_batch_begins_when_there_is_enough_or_when_it_has_waited_long_enough() -> None:
    clock = Clock()
    minimum = Minimum(10, 60.0, clock)
    assert not minimum.reached(9)
    assert minimum.reached(10)
    clock.now += 59
    assert not minimum.reached(1)
    clock.now += 1
    assert minimum.reached(1)
    assert not minimum.reached(1)


ranges = st.lists(
    st.tuples(st.integers(0, 1000), st.integers(0, 500)).map(lambda at: (at[0], at[0] + at[1])), max_size=8
)


@given(ranges, st.none() | st.integers(1, 60), st.none() | st.integers(1, 200))
def test_cutting_loses_nothing_and_gives_as_many_parts_as_are_wanted(
    edges: list[tuple[int, int]], least: int | None, most_records: int | None
) -> None:
    whole = [OffsetRange("t", number, start, end) for number, (start, end) in enumerate(edges)]
    parts = split(whole, least, most_records)
    for range_ in whole:
        own = [part for part in parts if part.partition == range_.partition]
        offsets = [offset for part in own for offset in range(part.start, part.end)]
        assert offsets == list(range(range_.start, range_.end))
    assert all(part.size > 0 for part in parts)
    assert len(parts) >= min(least or 0, sum(range_.size for range_ in whole))
    if most_records is not None:
        assert all(part.size <= most_records for part in parts)
