"""A transactional id and the transaction it is in: one immutable value, which is also what a record holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from penstock.protocol.topic_partition import TopicPartition
from penstock.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

NO_TIME: Final = -1
MAX_EPOCH: Final = 32_767
LAST_USABLE_EPOCH: Final = MAX_EPOCH - 1
"""The largest epoch a client ever has: one more is needed to fence it."""

CLASSIC: Final = 0
"""The transaction version of clients that add partitions themselves and keep their epoch."""
EPOCH_PER_TRANSACTION: Final = 2
"""Transaction version 2 (KIP-890): each end raises the epoch, and writing to a partition adds it."""


class State(IntEnum):
    """Kafka's states with their codes in the log."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6  # never written: an id that has expired is a tombstone
    PREPARE_EPOCH_FENCE = 7  # never written: fencing and the abort that follows are one decision here

    @property
    def title(self) -> str:
        """Kafka's name, as tools show it."""
        return "".join(word.capitalize() for word in self.name.split("_"))


@dataclass(frozen=True, slots=True)
class Transaction:
    """What the coordinator knows of a transactional id."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: State = State.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    """Those that need a marker when it ends. Empty unless one is open or ending."""
    start_ms: int = NO_TIME
    update_ms: int = NO_TIME
    previous_producer_id: int = NO_PRODUCER_ID
    """The id before the last transition: a retry may still name it after the epochs ran out."""
    next_producer_id: int = NO_PRODUCER_ID
    """The id that the client has already been given. It counts as soon as the markers are written."""
    version: int = CLASSIC
    """The transaction version of the client that caused the last transition."""
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    """The epoch before the last raise, by which a retried raise is known. Not in the log: a restart forgets
    it, as Kafka's does, and such a retry is fenced."""

    @property
    def is_ending(self) -> bool:
        return self.state in (State.PREPARE_COMMIT, State.PREPARE_ABORT)

    @property
    def is_open(self) -> bool:
        return self.state is State.ONGOING

    @property
    def epochs_exhausted(self) -> bool:
        return self.producer_epoch >= LAST_USABLE_EPOCH

    def moved(self, state: State, now_ms: int, **changes: object) -> Transaction:
        """The next value. What came before is remembered as `previous_producer_id`."""
        known: dict[str, object] = {"previous_producer_id": self.producer_id, "update_ms": now_ms}
        return replace(self, state=state, **(known | changes))  # type: ignore[arg-type]
