"""Adding partitions to a transaction, and verifying them."""

from __future__ import annotations

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.transactions.transaction import CLASSIC, State
from tests.transactions.stage import Stage, refusal

A, B = ("t", 0), ("t", 1)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_the_first_partition_opens_the_transaction(stage: Stage) -> None:
    producer = stage.init()
    stage.clock.ms += 5
    stage.add(producer, A)
    assert (stage.state.state, stage.state.partitions) == (State.ONGOING, {A})
    assert stage.state.start_ms == stage.clock.now_ms()


def test_more_partitions_keep_the_start(stage: Stage) -> None:
    producer = stage.init()
    stage.add(producer, A)
    start_ms = stage.state.start_ms
    stage.clock.ms += 5
    stage.add(producer, B)
    assert (stage.state.partitions, stage.state.start_ms) == ({A, B}, start_ms)


def test_what_is_in_the_transaction_already_writes_nothing(stage: Stage) -> None:
    producer = stage.init()
    stage.add(producer, A, B)
    appends = stage.log.appends
    stage.add(producer, B)
    assert stage.log.appends == appends


def test_an_unknown_id_has_no_producer(stage: Stage) -> None:
    assert refusal(lambda: stage.add((1, 0), A)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert refusal(lambda: stage.verify((1, 0), A)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize(
    ("producer", "code"),
    [
        ((1001, 0), ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        ((1000, 0), ErrorCode.PRODUCER_FENCED),
        ((1000, 2), ErrorCode.PRODUCER_FENCED),
    ],
)
def test_another_producer_or_epoch_is_refused(
    stage: Stage, producer: tuple[int, int], code: ErrorCode
) -> None:
    stage.init()
    stage.init()
    before = stage.state
    assert refusal(lambda: stage.add(producer, A)) is code
    assert refusal(lambda: stage.verify(producer, A)) is code
    assert stage.state == before


@pytest.mark.parametrize("commit", [True, False])
def test_while_the_transaction_before_is_ending_nothing_is_added_or_verified(
    stage: Stage, commit: bool
) -> None:
    producer = stage.init()
    stage.add(producer, A, version=CLASSIC)
    stage.markers.holding = True
    stage.end_classic(producer, commit=commit)
    assert refusal(lambda: stage.add(producer, A)) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert refusal(lambda: stage.verify(producer, A)) is ErrorCode.CONCURRENT_TRANSACTIONS
    # also for one who already knows the id and epoch of the next
    assert refusal(lambda: stage.add((5, 5), A)) is ErrorCode.CONCURRENT_TRANSACTIONS


def test_verification_tells_each_partition_apart_and_adds_none(stage: Stage) -> None:
    producer = stage.init()
    stage.add(producer, A)
    assert stage.verify(producer, A, B) == {A: ErrorCode.NONE, B: ErrorCode.TRANSACTION_ABORTABLE}
    assert stage.state.partitions == {A}


def test_without_an_open_transaction_nothing_verifies(stage: Stage) -> None:
    producer = stage.init()
    assert stage.verify(producer, A) == {A: ErrorCode.TRANSACTION_ABORTABLE}


def test_a_log_that_cannot_be_written_leaves_the_transaction_as_it_was(stage: Stage) -> None:
    from penstock.protocol.errors import KafkaError

    producer = stage.init()
    before = stage.state
    stage.log.refusal = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert refusal(lambda: stage.add(producer, A)) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert stage.state == before
