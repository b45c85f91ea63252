"""The end of a transaction, as a partition gets it."""

from __future__ import annotations

from typing import NamedTuple


class TransactionMarker(NamedTuple):
    """Everything the producer wrote under this id counts from here on, or never will."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    """Of the shard that decided the end: a coordinator that was replaced meanwhile is fenced by it."""
    commit: bool
    transaction_version: int
    """From 2 on the epoch of the marker is higher than that of the records before it (KIP-890)."""
