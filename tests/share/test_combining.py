"""Batches of an update over those of a state, beside a model that looks at each offset."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.share.combining import combined, joined
from penstock.share.messages import read_batches
from penstock.share.state import PartitionState, RecordState, StateBatch

STATES = st.sampled_from(sorted(RecordState))


@st.composite
def batches(draw: st.DrawFn) -> tuple[StateBatch, ...]:
    """Batches in order, without overlaps, with gaps and neighbours."""
    edges = sorted(draw(st.sets(st.integers(0, 60), max_size=12)))
    spans = itertools.pairwise(edges)
    return tuple(
        StateBatch(first, end - 1, draw(STATES), draw(st.integers(0, 2)))
        for first, end in spans
        if draw(st.booleans())
    )


@given(batches(), batches(), st.integers(-1, 60))
def test_each_offset_has_what_is_newer(
    older: tuple[StateBatch, ...], newer: tuple[StateBatch, ...], start: int
) -> None:
    known = {
        offset: (batch.state, batch.delivery_count)
        for batch in (*older, *newer)
        for offset in range(batch.first_offset, batch.last_offset + 1)
    }
    state = combined(PartitionState(start_offset=5, batches=older), start, newer)
    from_offset = 5 if start < 0 else start
    assert state.start_offset == from_offset
    expected = joined((offset, known[offset]) for offset in sorted(known) if offset >= from_offset)
    assert state.batches == expected


def test_a_batch_that_spans_every_offset_costs_no_more_than_another() -> None:
    whole = StateBatch(0, 2**63 - 1, RecordState.ARCHIVED, 1)
    state = combined(PartitionState(start_offset=0, batches=(whole,)), 7, ())
    assert state.batches == (whole._replace(first_offset=7),)


@pytest.mark.parametrize(
    "rows",
    [[(0, 4, 127)], [(5, 4, 0)], [(-1, 4, 0)], [(3, 9, 0), (9, 10, 0)]],
    ids=["unknown state", "ends before it begins", "below zero", "overlap"],
)
def test_a_node_that_sends_nonsense_is_refused(rows: list[tuple[int, int, int]]) -> None:
    sent = [
        SimpleNamespace(first_offset=first, last_offset=last, delivery_state=state, delivery_count=1)
        for first, last, state in rows
    ]
    with pytest.raises(KafkaError) as refused:
        read_batches(sent)
    assert refused.value.code == ErrorCode.INVALID_REQUEST
