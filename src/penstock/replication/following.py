"""What a follower decides: from where it fetches, and how far it cuts when its log and the leader's have
parted. Pure; `Partition` calls it under its lock."""

from __future__ import annotations

from typing import NamedTuple

from penstock.storage.epochs import NO_EPOCH, NO_OFFSET, LeaderEpochs
from penstock.wire.replica_fetch import Wanted

Position = Wanted
"""Where a follower's log ends, as it asks its leader for what comes next."""


class EpochEnd(NamedTuple):
    """The largest epoch up to the one asked for that the answering log knows, and where it ended there."""

    epoch: int
    end_offset: int


UNKNOWN_END = EpochEnd(NO_EPOCH, NO_OFFSET)


def has_diverged(ours: EpochEnd, offset: int, last_epoch: int) -> bool:
    """Whether a log that ends at `offset` with `last_epoch` has something that this one has not; `ours` is
    the end of that epoch here."""
    return ours.epoch < last_epoch or ours.end_offset < offset


def truncation_offset(epochs: LeaderEpochs, log_end_offset: int, leader: EpochEnd) -> int:
    """How far to cut a log whose last epoch ended elsewhere at its leader, which answered `leader`.

    Never to the high watermark, which a follower learns late (KIP-101). When the leader names an epoch that
    this log does not know, what comes after the next smaller one goes, and the next fetch compares again
    (KIP-279).
    """
    known, end_offset = epochs.end_offset(leader.epoch, log_end_offset)
    if known == NO_EPOCH:
        return min(leader.end_offset, log_end_offset)
    if known != leader.epoch:
        return min(end_offset, log_end_offset)
    return min(end_offset, leader.end_offset, log_end_offset)
