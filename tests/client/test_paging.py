"""Pages: what is read, how partitions merge, and that following `next` shows every record once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.paging import (
    RECORDS_READ_MAX,
    After,
    Before,
    Found,
    FromOffset,
    FromTimestamp,
    Message,
    Newest,
    Oldest,
    Span,
    Start,
    Window,
    earlier_window,
    first_windows,
    interleaved,
    is_backward,
    merge,
    next_start,
    share_of,
)


def message(partition: int, offset: int, timestamp_ms: int | None = 0) -> Message:
    return Message("t", partition, offset, timestamp_ms, "CreateTime", None, b"v")


def found(partition: int, offsets: list[int], window: Window, *, trimmed: bool = False) -> Found:
    return Found(window, [message(partition, offset, offset) for offset in offsets], trimmed)


def test_the_newest_page_reads_the_last_records_of_each_partition() -> None:
    windows = first_windows(Newest(), {0: Span(0, 100), 1: Span(95, 98)}, 10)
    assert windows == {0: Window(90, 100), 1: Window(95, 98)}


def test_the_oldest_page_starts_at_the_first_offset_that_is_left() -> None:
    assert first_windows(Oldest(), {0: Span(40, 100)}, 10) == {0: Window(40, 100)}


@pytest.mark.parametrize(("offset", "start"), [(5, 40), (50, 50), (500, 100)])
def test_an_offset_outside_the_partition_is_moved_to_its_nearest_end(offset: int, start: int) -> None:
    assert first_windows(FromOffset(offset), {0: Span(40, 100)}, 10) == {0: Window(start, 100)}


def test_a_cursor_of_a_partition_that_is_gone_is_ignored() -> None:
    assert first_windows(Before({0: 50, 7: 3}), {0: Span(0, 100)}, 10) == {0: Window(40, 50)}
    assert first_windows(After({0: 50, 7: 3}), {0: Span(0, 100)}, 10) == {0: Window(50, 100)}


def test_a_timestamp_must_be_resolved_before() -> None:
    with pytest.raises(TypeError):
        first_windows(FromTimestamp(1), {0: Span(0, 1)}, 1)


def test_partitions_share_the_records_that_one_page_may_read() -> None:
    assert share_of(100, 3) == 100
    assert share_of(1000, 100) == RECORDS_READ_MAX // 100
    assert share_of(100, 100_000) == 1


def test_merging_backward_takes_the_newest_head() -> None:
    merged = merge(
        {
            0: Found(Window(0, 2), [message(0, 0, 10), message(0, 1, 30)]),
            1: Found(Window(0, 1), [message(1, 0, 20)]),
        },
        10,
        backward=True,
    )
    assert [(m.partition, m.offset) for m in merged] == [(0, 1), (1, 0), (0, 0)]


def test_merging_never_changes_the_order_within_a_partition() -> None:
    disordered = Found(Window(0, 3), [message(0, 0, 50), message(0, 1, 10), message(0, 2, 40)])
    assert [m.offset for m in merge({0: disordered}, 10, backward=False)] == [0, 1, 2]
    assert [m.offset for m in merge({0: disordered}, 10, backward=True)] == [2, 1, 0]


def test_records_without_a_timestamp_count_as_the_oldest() -> None:
    merged = merge(
        {0: Found(Window(0, 1), [message(0, 0, None)]), 1: Found(Window(0, 1), [message(1, 0, 5)])},
        10,
        backward=True,
    )
    assert [m.partition for m in merged] == [1, 0]


def test_interleaving_puts_the_oldest_head_first_and_keeps_each_partition_in_order() -> None:
    mixed = [message(0, 0, 30), message(0, 1, 10), message(1, 0, 20), message(1, 1, 40)]
    assert [(m.partition, m.offset) for m in interleaved(mixed)] == [(1, 0), (0, 0), (0, 1), (1, 1)]


def test_a_backward_page_that_showed_everything_has_no_next_page() -> None:
    read = {0: found(0, [0, 1], Window(0, 2))}
    assert next_start(read, read[0].messages, {0: Span(0, 2)}, backward=True) is None


def test_a_gap_left_by_compaction_does_not_stop_the_next_page() -> None:
    read = {0: found(0, [95], Window(90, 100))}
    assert next_start(read, read[0].messages, {0: Span(0, 100)}, backward=True) == Before({0: 90})


def test_a_partition_none_of_whose_records_were_shown_starts_again_at_the_same_place() -> None:
    read = {0: found(0, [5, 6], Window(5, 7))}
    assert next_start(read, [], {0: Span(0, 7)}, backward=True) == Before({0: 7})
    assert next_start(read, [], {0: Span(0, 7)}, backward=False) == After({0: 5})


def test_the_window_before_is_eight_times_as_wide_and_ends_where_the_last_began() -> None:
    assert earlier_window(Window(90, 100), Span(0, 100)) == Window(10, 90)
    assert earlier_window(Window(10, 90), Span(0, 100)) == Window(0, 10)
    assert earlier_window(Window(0, 10), Span(0, 100)) is None


@st.composite
def logs(draw: st.DrawFn) -> dict[int, list[Message]]:
    """A few partitions with gaps between offsets and timestamps in any order."""
    partitions = draw(st.integers(1, 4))
    return {
        p: [
            message(p, offset, draw(st.integers(0, 20)))
            for offset in sorted(draw(st.sets(st.integers(3, 40), max_size=15)))
        ]
        for p in range(partitions)
    }


def read_page(
    log: dict[int, list[Message]], spans: dict[int, Span], start: Start, limit: int
) -> tuple[list[Message], Before | After | None]:
    """What `Messages.page` does, over lists instead of a broker and without looking further back."""
    backward = is_backward(start)
    wanted = share_of(limit, len(spans))
    read: dict[int, Found] = {}
    for p, window in first_windows(start, spans, wanted).items():
        inside = [m for m in log[p] if window.start <= m.offset < window.end]
        kept = inside[-wanted:] if backward else inside[:wanted]
        read[p] = Found(window, kept, trimmed=len(kept) < len(inside))
    shown = merge(read, limit, backward=backward)
    return shown, next_start(read, shown, spans, backward=backward)


@given(logs(), st.integers(1, 7), st.booleans())
def test_following_the_pages_shows_every_record_exactly_once(
    log: dict[int, list[Message]], limit: int, backward: bool
) -> None:
    spans = {p: Span(3, 45) for p in log}
    start: Start | None = Newest() if backward else Oldest()
    seen: list[tuple[int, int]] = []
    for _ in range(2_000):
        if start is None:
            break
        shown, start = read_page(log, spans, start, limit)
        seen.extend((m.partition, m.offset) for m in shown)
    assert start is None, "the pages never ended"
    assert sorted(seen) == sorted((p, m.offset) for p, messages in log.items() for m in messages)
