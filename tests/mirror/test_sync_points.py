"""Which pairs of offsets are told, and what groups make of them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mirror.layouts import OffsetSync
from penstock.mirror.sync_points import PendingSyncs, sync_points
from penstock.mirror.translation import OffsetSyncs
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.relaying import Piece

PLACE = TopicPartition("orders", 0)


def test_points_stand_closer_to_each_other_at_the_end() -> None:
    points = sync_points(PLACE, [Piece(0, 999, 50, 1000)], 100)

    assert [point.upstream for point in points] == [0, 199, 599, 799, 899, 999]
    assert all(point.downstream == point.upstream + 50 for point in points)


def test_where_offsets_have_gaps_a_point_is_a_record_that_is_known() -> None:
    points = sync_points(PLACE, [Piece(0, 500, 0, 10), Piece(600, 699, 10, 100)], 100)

    assert points == [OffsetSync(PLACE, 0, 0), OffsetSync(PLACE, 500, 9), OffsetSync(PLACE, 699, 109)]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 400), st.integers(0, 3)), min_size=1, max_size=30),
    st.integers(0, 200),
)
def test_a_group_skips_nothing_and_near_the_end_reads_little_again(
    steps: list[tuple[int, int, int]], lag_max: int
) -> None:
    """Any copy: gaps on the source, runs of records, markers on the target."""
    pieces, up, down = [], 0, 0
    for gap, size, markers in steps:
        pieces.append(Piece(up + gap, up + gap + size - 1, down, size))
        up, down = up + gap + size, down + size + markers
    where = {p.upstream + n: p.downstream + n for p in pieces for n in range(p.records)}
    syncs = OffsetSyncs()
    syncs.started()
    pending = PendingSyncs(lag_max)
    for start in range(0, len(pieces), 3):
        pending.add(PLACE, pieces[start : start + 3])
        syncs.take_all(pending.take())

    for upstream in [*where, up]:
        translated = syncs.translate(PLACE, upstream)
        if translated is None or translated < 0:
            continue
        unread = [down for offset, down in where.items() if offset >= upstream]
        assert translated <= min(unread, default=down)
    at_end = syncs.translate(PLACE, up)
    assert at_end is not None
    assert not [each for each in where.values() if each >= at_end]


def test_syncs_wait_until_they_are_worth_telling_and_are_given_back() -> None:
    pending = PendingSyncs(100)
    pending.add(PLACE, [Piece(0, 0, 0, 1)])
    assert not pending.is_due
    first = pending.take()
    assert first == [OffsetSync(PLACE, 0, 0)]
    pending.give_back(first)
    pending.add(PLACE, [Piece(1, 300, 1, 300)])

    assert pending.is_due
    told = pending.take()
    assert told[0] == OffsetSync(PLACE, 0, 0)
    assert told[-1] == OffsetSync(PLACE, 300, 300)
    pending.add(PLACE, [Piece(301, 302, 301, 2)])
    assert not pending.is_due
    assert pending.take() == [OffsetSync(PLACE, 302, 302)]


def test_the_first_record_is_told_so_that_a_group_at_the_start_is_translated() -> None:
    pending, syncs = PendingSyncs(100), OffsetSyncs()
    syncs.started()
    pending.add(PLACE, [Piece(0, 4, 0, 5)])
    pending.add(PLACE, [Piece(5, 9, 6, 5)])  # a marker stands between
    told = pending.take()
    assert told == [OffsetSync(PLACE, 0, 0), OffsetSync(PLACE, 9, 10)]
    syncs.take_all(told)
    assert syncs.translate(PLACE, 1) == 1
    pending.add(PLACE, [Piece(10, 19, 12, 10)])
    assert pending.take() == [OffsetSync(PLACE, 19, 21)]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 450), min_size=1, max_size=40), st.sampled_from([1, 20, 100]))
def test_a_group_reads_no_more_again_than_the_lag_or_as_far_as_it_is_behind(
    batches: list[int], lag_max: int
) -> None:
    """The documented bound, for a group anywhere in a partition that is copied in batches of any size."""
    syncs = OffsetSyncs()
    syncs.started()
    pending, end = PendingSyncs(lag_max), 0
    for size in batches:
        pending.add(PLACE, [Piece(end, end + size - 1, end, size)])
        end += size
        if pending.is_due:
            syncs.take_all(pending.take())
    syncs.take_all(pending.take())

    for upstream in range(1, end + 1):
        translated = syncs.translate(PLACE, upstream)
        assert translated is not None
        assert 0 <= upstream - translated <= max(lag_max, end - upstream), (upstream, end)


def test_the_syncs_that_are_kept_are_few() -> None:
    syncs = OffsetSyncs()
    syncs.started()
    syncs.take_all(OffsetSync(PLACE, offset, offset) for offset in range(20_000))

    used = {syncs.used(PLACE, offset) for offset in range(20_000)}
    assert len(used) < 60
