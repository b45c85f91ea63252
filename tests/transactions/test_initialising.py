"""Who a transactional id belongs to."""

from __future__ import annotations

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.transactions.coordinator import TransactionCoordinator
from penstock.transactions.initialising import Initialise
from penstock.transactions.settings import TransactionSettings
from penstock.transactions.transaction import State
from tests.coordinator.manual_clock import ManualClock
from tests.transactions.stage import PaperMarkers, Stage, refusal

PLACE = ("t", 0)


def test_a_new_id_begins_at_epoch_0() -> None:
    stage = Stage()
    assert stage.init() == (1000, 0)
    assert (stage.state.state, stage.state.partitions, stage.state.start_ms) == (State.EMPTY, frozenset(), -1)


def test_the_next_producer_of_an_id_gets_the_next_epoch_and_its_own_timeout() -> None:
    stage = Stage()
    stage.init()
    assert stage.init(timeout_ms=5) == (1000, 1)
    assert stage.state.timeout_ms == 5


def test_two_ids_have_two_producer_ids() -> None:
    stage = Stage()
    assert stage.init(name="a")[0] != stage.init(name="b")[0]


def test_an_empty_id_is_refused() -> None:
    assert refusal(lambda: Stage().init(name="")) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("timeout_ms", [-1, 0, 900_001])
def test_a_timeout_out_of_bounds_is_refused_and_leaves_no_trace(timeout_ms: int) -> None:
    stage = Stage()
    assert refusal(lambda: stage.init(timeout_ms=timeout_ms)) is ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert refusal(lambda: stage.state) is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert stage.log.appends == 0


def test_without_the_internal_topic_nobody_is_coordinator() -> None:
    coordinator = TransactionCoordinator(
        TransactionSettings(), ManualClock(), lambda: None, lambda: 1, PaperMarkers()
    )
    promise = coordinator.initialise("tx", Initialise(1000))
    assert refusal(promise.result) is ErrorCode.NOT_COORDINATOR


def test_an_open_transaction_is_aborted_and_its_producer_asked_to_come_again() -> None:
    stage = Stage()
    first = stage.init()
    stage.add(first, PLACE)
    assert refusal(stage.init) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert stage.state.state is State.COMPLETE_ABORT
    ((place, ending),) = stage.markers.written
    assert (place, ending.commit, ending.producer_epoch) == (PLACE, False, first[1] + 1)
    assert stage.init() == (1000, 2)
    assert refusal(lambda: stage.add(first, PLACE)) is ErrorCode.PRODUCER_FENCED


def test_while_a_transaction_is_ending_a_new_producer_waits() -> None:
    stage = Stage()
    producer = stage.init()
    stage.add(producer, PLACE)
    stage.markers.holding = True
    stage.end(producer)
    assert refusal(stage.init) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert stage.state.state is State.PREPARE_COMMIT
    stage.markers.release()
    assert stage.init() == (1000, 2)


def test_who_expects_its_own_epoch_goes_on_with_the_next() -> None:
    stage = Stage()
    producer = stage.init()
    assert stage.init(producer) == (1000, 1)


def test_who_repeats_a_raise_gets_the_same_answer() -> None:
    stage = Stage()
    producer = stage.init()
    assert stage.init(producer) == stage.init(producer) == (1000, 1)


def test_who_expects_an_epoch_that_another_producer_has_replaced_is_fenced() -> None:
    stage = Stage()
    producer = stage.init()
    stage.init()
    before = stage.state
    assert refusal(lambda: stage.init(producer)) is ErrorCode.PRODUCER_FENCED
    assert stage.state == before


def test_who_expects_another_producer_id_is_fenced() -> None:
    stage = Stage()
    stage.init()
    assert refusal(lambda: stage.init((7, 0))) is ErrorCode.PRODUCER_FENCED


def test_who_expects_something_of_an_id_that_has_expired_begins_anew() -> None:
    stage = Stage()
    assert stage.init((7, 3)) == (1000, 0)


def test_when_the_epochs_run_out_there_is_a_new_producer_id() -> None:
    stage = Stage()
    producer = stage.exhausted()
    assert stage.init() == (1001, 0)
    assert refusal(lambda: stage.add(producer, PLACE)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_a_raise_that_used_up_the_epochs_can_be_repeated() -> None:
    stage = Stage()
    last = stage.exhausted()
    assert stage.init(last) == (1001, 0)
    assert stage.init(last) == (1001, 0)
