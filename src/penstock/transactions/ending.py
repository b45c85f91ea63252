"""Ending a transaction: by its producer, by a newer producer, by its timeout; and what follows when the
markers are written. Pure.

Clients of transaction version 2 (KIP-890) have their epoch raised by each end, so that nothing that was sent
late can be taken for a part of the next transaction, and so that a retry of an end is known by its epoch.
"""

from __future__ import annotations

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.batch import NO_PRODUCER_ID
from penstock.transactions.adding import check_producer, wrong_producer
from penstock.transactions.fresh_ids import needed
from penstock.transactions.transaction import (
    EPOCH_PER_TRANSACTION,
    LAST_USABLE_EPOCH,
    MAX_EPOCH,
    State,
    Transaction,
)

_PREPARED = {True: State.PREPARE_COMMIT, False: State.PREPARE_ABORT}
_COMPLETED = {True: State.COMPLETE_COMMIT, False: State.COMPLETE_ABORT}


def decide_end(
    present: Transaction | None, producer_id: int, producer_epoch: int, commit: bool, now_ms: int
) -> Transaction | None:
    """For clients that keep their epoch: the prepared transaction, or None when it has ended so already."""
    known = check_producer(present, producer_id, producer_epoch)
    if known.is_ending:
        raise _concurrent()
    if known.is_open:
        return known.moved(_PREPARED[commit], now_ms, version=0, next_producer_id=NO_PRODUCER_ID)
    if known.state is _COMPLETED[commit]:
        return None
    raise _invalid(known, commit)


def decide_end_raising_epoch(
    present: Transaction | None,
    producer_id: int,
    producer_epoch: int,
    commit: bool,
    fresh_id: int | None,
    now_ms: int,
) -> Transaction | None:
    """For clients of transaction version 2: the prepared transaction in its next epoch, or None when this is
    a retry of an end that has happened."""
    if present is None:
        raise wrong_producer(producer_id)
    if present.is_ending:
        # First of all, as in Kafka: the producer may already use the id that is still to come.
        raise _concurrent()
    if _is_retry(present, producer_id, producer_epoch):
        if present.state is _COMPLETED[commit]:
            return None
        raise _invalid(present, commit)
    known = check_producer(present, producer_id, producer_epoch)
    if known.is_open:
        return _prepared(known, commit, fresh_id, now_ms, start_ms=known.start_ms)
    if commit:
        raise _invalid(known, commit)
    # An abort without a transaction is legal: the producer does not know whether its first write arrived.
    return _prepared(known, commit, fresh_id, now_ms, start_ms=now_ms)


def fence(present: Transaction, now_ms: int) -> Transaction:
    """Abort the open transaction on behalf of its coordinator, and fence the producer that opened it. No
    client ever learns this epoch, so it may be the last one that there is."""
    return present.moved(
        State.PREPARE_ABORT,
        now_ms,
        producer_epoch=min(present.producer_epoch + 1, MAX_EPOCH),
        last_producer_epoch=present.producer_epoch,
        next_producer_id=NO_PRODUCER_ID,
        version=EPOCH_PER_TRANSACTION,
    )


def completed(present: Transaction, now_ms: int) -> Transaction:
    """All markers are written. Where the epochs have run out, the id that the client was given takes over."""
    rolled_over = present.next_producer_id != NO_PRODUCER_ID
    taking_over = {"producer_id": present.next_producer_id, "producer_epoch": 0} if rolled_over else {}
    return present.moved(
        _COMPLETED[present.state is State.PREPARE_COMMIT],
        now_ms,
        partitions=frozenset(),
        next_producer_id=NO_PRODUCER_ID,
        **taking_over,
    )


def identity_after(prepared: Transaction) -> tuple[int, int]:
    """Id and epoch with which the client begins its next transaction."""
    after = completed(prepared, prepared.update_ms)
    return after.producer_id, after.producer_epoch


def _prepared(
    known: Transaction, commit: bool, fresh_id: int | None, now_ms: int, start_ms: int
) -> Transaction:
    next_id = needed(fresh_id) if known.epochs_exhausted else NO_PRODUCER_ID
    return known.moved(
        _PREPARED[commit],
        now_ms,
        start_ms=start_ms,
        producer_epoch=min(known.producer_epoch + 1, MAX_EPOCH),
        last_producer_epoch=known.producer_epoch,
        next_producer_id=next_id,
        version=EPOCH_PER_TRANSACTION,
    )


def _is_retry(present: Transaction, producer_id: int, producer_epoch: int) -> bool:
    """Whether this end has already raised the epoch, or used up the last one and got a new id."""
    if present.state not in _COMPLETED.values():
        return False
    if present.producer_id == producer_id:
        return present.producer_epoch == producer_epoch + 1
    rolled_over = present.previous_producer_id == producer_id and present.producer_epoch == 0
    return rolled_over and producer_epoch == LAST_USABLE_EPOCH


def _invalid(present: Transaction, commit: bool) -> KafkaError:
    wanted = "committed" if commit else "aborted"
    return KafkaError(
        ErrorCode.INVALID_TXN_STATE, f"A transaction in state {present.state.title} cannot be {wanted}."
    )


def _concurrent() -> KafkaError:
    return KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS, "The transaction is just ending.")
