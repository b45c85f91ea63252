"""Adding partitions to a transaction, and verifying that they belong to it. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.topic_partition import TopicPartition
from penstock.transactions.transaction import State, Transaction


def decide_add(
    present: Transaction | None,
    producer_id: int,
    producer_epoch: int,
    partitions: Iterable[TopicPartition],
    version: int,
    now_ms: int,
) -> Transaction | None:
    """The transaction with these partitions, which opens it if it was not; None when they are in it
    already."""
    if present is not None and present.is_ending:
        # Before anything else: the producer may already know the id and epoch that will count when this one
        # has ended.
        raise _concurrent()
    known = check_producer(present, producer_id, producer_epoch)
    added = known.partitions | frozenset(partitions)
    if known.is_open and added == known.partitions:
        return None
    start_ms = known.start_ms if known.is_open else now_ms
    return known.moved(State.ONGOING, now_ms, partitions=added, start_ms=start_ms, version=version)


def verify(
    present: Transaction | None, producer_id: int, producer_epoch: int, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """For each partition whether it belongs to the open transaction of this very producer (KIP-890)."""
    known = check_producer(present, producer_id, producer_epoch)
    if known.is_ending:
        raise _concurrent()
    return {
        partition: ErrorCode.NONE if partition in known.partitions else ErrorCode.TRANSACTION_ABORTABLE
        for partition in partitions
    }


def check_producer(present: Transaction | None, producer_id: int, producer_epoch: int) -> Transaction:
    """KafkaError unless the id is this producer's in this epoch."""
    if present is None or present.producer_id != producer_id:
        raise wrong_producer(producer_id)
    if present.producer_epoch != producer_epoch:
        raise fenced(present, producer_epoch)
    return present


def wrong_producer(producer_id: int) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        f"Producer id {producer_id} does not belong to this transactional id.",
    )


def fenced(present: Transaction, producer_epoch: int) -> KafkaError:
    return KafkaError(
        ErrorCode.PRODUCER_FENCED, f"Epoch {present.producer_epoch} is in use, not {producer_epoch}."
    )


def _concurrent() -> KafkaError:
    return KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS, "The transaction before has not ended yet.")
