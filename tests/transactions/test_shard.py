"""What happens to transactions without a request: timeouts, expiry, markers that fail, a new leader."""

from __future__ import annotations

import pytest

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.transactions.settings import TransactionSettings
from penstock.transactions.transaction import CLASSIC, State
from tests.transactions.stage import TIMEOUT_MS, TX, Stage, refusal

A, B = ("t", 0), ("t", 1)
DAY_MS = 24 * 3_600_000


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced(stage: Stage) -> None:
    producer = stage.init()
    stage.add(producer, A)
    stage.pass_ms(TIMEOUT_MS - 1)
    assert stage.state.state is State.ONGOING
    stage.pass_ms(1)
    assert stage.state.state is State.COMPLETE_ABORT
    assert [(place, ending.commit) for place, ending in stage.markers.written] == [(A, False)]
    assert refusal(lambda: stage.add(producer, A)) is ErrorCode.PRODUCER_FENCED
    assert refusal(lambda: stage.end_classic(producer)) is ErrorCode.PRODUCER_FENCED


def test_adding_partitions_does_not_prolong_it(stage: Stage) -> None:
    producer = stage.init()
    stage.add(producer, A)
    stage.pass_ms(TIMEOUT_MS / 2)
    stage.add(producer, B)
    stage.pass_ms(TIMEOUT_MS / 2)
    assert stage.state.state is State.COMPLETE_ABORT


def test_the_timeout_of_one_transaction_does_not_hit_the_next(stage: Stage) -> None:
    producer = stage.init()
    stage.add(producer, A)
    stage.pass_ms(TIMEOUT_MS - 1)
    producer = stage.end(producer)
    stage.add(producer, A)
    stage.pass_ms(TIMEOUT_MS - 1)
    assert stage.state.state is State.ONGOING


def test_a_timeout_that_cannot_be_written_is_tried_again(stage: Stage) -> None:
    stage.add(stage.init(), A)
    stage.log.refusal = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
    stage.pass_ms(TIMEOUT_MS)
    assert stage.state.state is State.ONGOING
    stage.log.refusal = None
    stage.pass_ms(1000)
    assert stage.state.state is State.COMPLETE_ABORT


def test_after_a_reload_the_timeout_counts_from_the_start_of_the_transaction(stage: Stage) -> None:
    stage.add(stage.init(), A)
    stage.pass_ms(TIMEOUT_MS - 1)
    stage.reload()
    stage.pass_ms(1)
    assert stage.state.state is State.COMPLETE_ABORT


def test_a_leader_whose_clock_is_behind_aborts_it_after_the_timeout_too(stage: Stage) -> None:
    stage.add(stage.init(), A)
    stage.clock.ms -= DAY_MS
    stage.reload()
    stage.pass_ms(TIMEOUT_MS)
    assert stage.state.state is State.COMPLETE_ABORT


@pytest.mark.parametrize("commit", [True, False])
def test_a_new_leader_writes_the_markers_of_what_was_prepared(stage: Stage, commit: bool) -> None:
    producer = stage.init()
    stage.add(producer, A, B)
    stage.markers.holding = True
    told = stage.end(producer, commit=commit)
    stage.markers.holding = False
    stage.reload()
    assert [(place, ending.commit) for place, ending in stage.markers.written] == [(A, commit), (B, commit)]
    assert {ending.coordinator_epoch for _, ending in stage.markers.written} == {2}
    assert stage.state.state is (State.COMPLETE_COMMIT if commit else State.COMPLETE_ABORT)
    assert stage.end(producer, commit=commit) == told


def test_markers_are_not_written_before_the_end_is_committed(stage: Stage) -> None:
    producer = stage.init()
    stage.add(producer, A)
    stage.log.commits_at_once = False
    promise = stage.coordinator.end(TX, *producer, commit=True, version=CLASSIC)
    assert not promise.done
    assert stage.markers.written == []
    stage.log.commit()
    assert promise.done
    assert [place for place, _ in stage.markers.written] == [A]


def test_a_partition_that_refuses_its_marker_is_tried_again_and_the_others_are_not(stage: Stage) -> None:
    producer = stage.init()
    stage.add(producer, A, B)
    stage.markers.broken = {B}
    stage.end(producer)
    assert stage.state.state is State.PREPARE_COMMIT
    stage.pass_ms(1000)
    assert stage.state.state is State.PREPARE_COMMIT
    stage.markers.broken = set()
    stage.pass_ms(1000)
    assert stage.state.state is State.COMPLETE_COMMIT
    assert [place for place, _ in stage.markers.written] == [A, B]


def test_a_completion_that_cannot_be_written_is_written_later(stage: Stage) -> None:
    producer = stage.init()
    stage.add(producer, A)
    stage.markers.holding = True
    stage.end(producer)
    stage.log.refusal = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
    stage.markers.release()
    assert stage.state.state is State.PREPARE_COMMIT
    stage.log.refusal = None
    stage.pass_ms(1000)
    assert stage.state.state is State.COMPLETE_COMMIT


def test_an_id_that_nobody_uses_expires(stage: Stage) -> None:
    stage = Stage(TransactionSettings(id_expiration_ms=DAY_MS, expiry_interval_ms=3_600_000))
    stage.init()
    stage.pass_ms(DAY_MS - 3_600_000)
    assert stage.state.state is State.EMPTY
    for _ in range(3):
        stage.pass_ms(3_600_000)
    assert refusal(lambda: stage.state) is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    stage.reload()
    assert refusal(lambda: stage.state) is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert stage.init() == (1001, 0)


def test_an_id_in_a_transaction_does_not_expire() -> None:
    stage = Stage(TransactionSettings(id_expiration_ms=1000, expiry_interval_ms=1000))
    stage.add(stage.init(), A)
    stage.pass_ms(TIMEOUT_MS - 1)
    assert stage.state.state is State.ONGOING


def test_a_reload_changes_nothing_but_the_last_epoch(stage: Stage) -> None:
    stage.add(stage.init(), A, B)
    before = stage.state
    stage.reload()
    assert stage.state == before
