"""InitProducerId for a transactional id: who it belongs to from now on. Pure: what is known and what is asked
go in, the next value or a `KafkaError` comes out."""

from __future__ import annotations

from typing import NamedTuple

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from penstock.transactions.ending import fence
from penstock.transactions.fresh_ids import needed
from penstock.transactions.transaction import LAST_USABLE_EPOCH, NO_TIME, State, Transaction


class Initialise(NamedTuple):
    """What a producer asks for. With an expected id and epoch it wants to go on after an error (KIP-360), and
    only if no other producer has taken over meanwhile."""

    timeout_ms: int
    expected_id: int = NO_PRODUCER_ID
    expected_epoch: int = NO_PRODUCER_EPOCH

    @property
    def expects(self) -> bool:
        return self.expected_id != NO_PRODUCER_ID


def decide_initialise(
    transactional_id: str, present: Transaction | None, wish: Initialise, fresh_id: int | None, now_ms: int
) -> Transaction:
    """The next value: empty, with an epoch of its own; or aborting, and then the producer has to ask again
    when that has come to its end."""
    if present is None:
        new = Transaction(transactional_id, needed(fresh_id), NO_PRODUCER_EPOCH, wish.timeout_ms)
        return _raised(new, wish, now_ms)
    if present.is_ending:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS, "The transaction before has not ended yet.")
    if wish.expects and not _may_expect(present, wish):
        raise KafkaError(ErrorCode.PRODUCER_FENCED, f"Producer id {wish.expected_id} is no longer in use.")
    if present.is_open:
        return fence(present, now_ms)
    if present.epochs_exhausted and (not wish.expects or wish.expected_epoch == present.producer_epoch):
        return _with_new_id(present, wish, needed(fresh_id), now_ms)
    return _raised(present, wish, now_ms)


def _may_expect(present: Transaction, wish: Initialise) -> bool:
    """The id is the present one; or the one before and out of epochs, when this repeats a request whose
    answer was lost. The epoch is looked at when it is raised."""
    rolled_over = (
        wish.expected_id == present.previous_producer_id and wish.expected_epoch >= LAST_USABLE_EPOCH
    )
    return wish.expected_id == present.producer_id or rolled_over


def _raised(present: Transaction, wish: Initialise, now_ms: int) -> Transaction:
    epoch, last = present.producer_epoch + 1, NO_PRODUCER_EPOCH
    if wish.expects:
        if present.producer_epoch in (NO_PRODUCER_EPOCH, wish.expected_epoch):
            last = present.producer_epoch
        elif wish.expected_epoch == present.last_producer_epoch:
            # A retry: the raise has happened. Nobody else can be fenced by it, since a producer that
            # expected nothing would have cleared the last epoch.
            epoch, last = present.producer_epoch, present.last_producer_epoch
        else:
            raise KafkaError(
                ErrorCode.PRODUCER_FENCED,
                f"Epoch {wish.expected_epoch} was expected, and {present.producer_epoch} is in use.",
            )
    return _empty(present, wish, now_ms, producer_epoch=epoch, last_producer_epoch=last)


def _with_new_id(present: Transaction, wish: Initialise, producer_id: int, now_ms: int) -> Transaction:
    last = present.producer_epoch if wish.expects else NO_PRODUCER_EPOCH
    return _empty(present, wish, now_ms, producer_id=producer_id, producer_epoch=0, last_producer_epoch=last)


def _empty(present: Transaction, wish: Initialise, now_ms: int, **changes: int) -> Transaction:
    return present.moved(
        State.EMPTY, now_ms, timeout_ms=wish.timeout_ms, start_ms=NO_TIME, partitions=frozenset(), **changes
    )
