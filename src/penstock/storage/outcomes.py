"""What the methods of a log give back: where batches went, and what a flush has to do."""

from __future__ import annotations

from typing import NamedTuple

from penstock.storage.segment import Segment


class Appended(NamedTuple):
    """Where batches went."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    """The timestamp the broker gave them, or NO_TIMESTAMP when the producer's stand."""
    log_start_offset: int
    duplicate: bool
    """They had been appended before, at these offsets; nothing was written."""


class Unflushed(NamedTuple):
    """What a flush outside the lock has to do."""

    segments: list[Segment]
    upto: int
    """The recovery point once they are synced."""
    truncations: int
