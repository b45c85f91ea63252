"""What is sent behind a batch that was refused: tried again in order, and not called out of order."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.replication.refusals import MAX_FOLLOWING, MAX_PRODUCERS, Refusals
from tests.replication.replicas import Replicas
from tests.storage.builders import batch

TOO_FEW = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS, "too few")
GAP = KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "a gap")


def sent(replicas: Replicas, sequence: int) -> ErrorCode:
    """What an idempotent producer is answered."""
    data = batch(b"v", producer_id=7, producer_epoch=0, base_sequence=sequence)
    try:
        replicas.leader.append(data, to_all=True)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def in_sync(replicas: Replicas, *isr: int) -> None:
    state = replicas.state
    replicas.state = replace(state, isr=isr, partition_epoch=state.partition_epoch + 1)
    replicas.tell(*replicas.partitions)


def test_what_follows_a_batch_that_too_few_replicas_refused_is_refused_alike() -> None:
    replicas = Replicas(min_isr=2)
    assert sent(replicas, 0) is ErrorCode.NONE
    in_sync(replicas, 1)
    assert sent(replicas, 1) is ErrorCode.NOT_ENOUGH_REPLICAS
    in_sync(replicas, 1, 2)
    assert sent(replicas, 2) is ErrorCode.NOT_ENOUGH_REPLICAS  # under way before the first was answered
    assert [sent(replicas, 1), sent(replicas, 2)] == [ErrorCode.NONE, ErrorCode.NONE]
    assert sent(replicas, 4) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_new_producer_does_not_begin_behind_a_batch_that_was_refused() -> None:
    replicas = Replicas(min_isr=2)
    in_sync(replicas, 1)
    assert sent(replicas, 0) is ErrorCode.NOT_ENOUGH_REPLICAS
    in_sync(replicas, 1, 2)
    assert sent(replicas, 1) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert [sent(replicas, 0), sent(replicas, 1)] == [ErrorCode.NONE, ErrorCode.NONE]


def test_what_follows_a_batch_that_came_before_this_broker_led_is_refused_alike() -> None:
    replicas = Replicas()
    assert sent(replicas, 0) is ErrorCode.NONE
    replicas.catch_up(2, 3)
    data = batch(b"v", producer_id=7, producer_epoch=0, base_sequence=1)
    with pytest.raises(KafkaError, match="NOT_LEADER"):
        replicas[2].append(data, to_all=True)
    replicas.lead(2, (1, 2, 3))
    assert sent(replicas, 2) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert [sent(replicas, 1), sent(replicas, 2)] == [ErrorCode.NONE, ErrorCode.NONE]


def test_what_follows_a_batch_that_found_no_space_is_refused_alike() -> None:
    replicas = Replicas(1)
    assert sent(replicas, 0) is ErrorCode.NONE
    replicas.disk.fail_next("write", OSError(errno.ENOSPC, "full"))
    assert [sent(replicas, 1), sent(replicas, 2)] == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    assert [sent(replicas, 1), sent(replicas, 2)] == [ErrorCode.NONE, ErrorCode.NONE]


def test_no_more_batches_are_excused_than_can_have_been_under_way() -> None:
    refusals = Refusals()
    assert refusals.answer(7, GAP) is GAP
    refusals.answer(7, TOO_FEW)
    answers = [refusals.answer(7, GAP).code for _ in range(MAX_FOLLOWING + 1)]
    assert answers == [TOO_FEW.code] * MAX_FOLLOWING + [GAP.code]


def test_the_producers_that_are_remembered_are_bounded() -> None:
    refusals = Refusals()
    for producer_id in range(MAX_PRODUCERS + 1):
        refusals.answer(producer_id, TOO_FEW)
    assert len(refusals.by_producer) == MAX_PRODUCERS
    assert refusals.answer(0, GAP) is GAP
