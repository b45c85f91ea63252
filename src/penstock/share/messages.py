"""Batches of a state as the messages between brokers have them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.share.state import RecordState, StateBatch

_STATES: Final = frozenset(RecordState)


def read_batches(rows: Iterable[Any]) -> tuple[StateBatch, ...]:
    """The batches, which must be in order and must not overlap; otherwise INVALID_REQUEST."""
    found: list[StateBatch] = []
    for row in rows:
        if row.delivery_state not in _STATES:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"{row.delivery_state} is no delivery state of a record."
            )
        if not (found[-1].last_offset if found else -1) < row.first_offset <= row.last_offset:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"Batches must be in order: {row.first_offset} to {row.last_offset} is out of place.",
            )
        state = RecordState(row.delivery_state)
        found.append(StateBatch(row.first_offset, row.last_offset, state, row.delivery_count))
    return tuple(found)


def write_batches(batches: Iterable[StateBatch]) -> list[dict[str, int]]:
    return [
        {
            "first_offset": batch.first_offset,
            "last_offset": batch.last_offset,
            "delivery_state": int(batch.state),
            "delivery_count": batch.delivery_count,
        }
        for batch in batches
    ]
