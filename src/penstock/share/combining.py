"""Batches of an update laid over those of a state: what is newer wins, what is done goes.

The work grows with the number of batches, never with the offsets that one of them claims to span.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.share.state import PartitionState, RecordState, StateBatch


def combined(state: PartitionState, start_offset: int, newer: Iterable[StateBatch]) -> PartitionState:
    """The state with the batches of an update. A start offset below zero means: as before."""
    start = state.start_offset if start_offset < 0 else start_offset
    update = tuple(newer)
    batches = sorted((*_uncovered(state.batches, update), *update))
    return state._replace(start_offset=start, batches=_neighbours_joined(_from_start(batches, start)))


def joined(records: Iterable[tuple[int, tuple[RecordState, int]]]) -> tuple[StateBatch, ...]:
    """Single records, in order, as batches of neighbours of which the same is known."""
    return _neighbours_joined(StateBatch(offset, offset, state, count) for offset, (state, count) in records)


def _uncovered(older: Iterable[StateBatch], newer: tuple[StateBatch, ...]) -> Iterator[StateBatch]:
    """What is left of the older batches beside the newer ones; both are in order and without overlaps."""
    at = 0
    for batch in older:
        first = batch.first_offset
        while at < len(newer) and newer[at].last_offset < first:
            at += 1
        for over in range(at, len(newer)):
            if newer[over].first_offset > batch.last_offset:
                break
            if newer[over].first_offset > first:
                yield batch._replace(first_offset=first, last_offset=newer[over].first_offset - 1)
            first = newer[over].last_offset + 1
        if first <= batch.last_offset:
            yield batch._replace(first_offset=first)


def _from_start(batches: Iterable[StateBatch], start: int) -> Iterator[StateBatch]:
    for batch in batches:
        if batch.last_offset >= start:
            yield batch._replace(first_offset=max(batch.first_offset, start))


def _neighbours_joined(batches: Iterable[StateBatch]) -> tuple[StateBatch, ...]:
    found: list[StateBatch] = []
    for batch in batches:
        last = found[-1] if found else None
        if last is not None and last[1:] == (batch.first_offset - 1, batch.state, batch.delivery_count):
            found[-1] = last._replace(last_offset=batch.last_offset)
        else:
            found.append(batch)
    return tuple(found)
