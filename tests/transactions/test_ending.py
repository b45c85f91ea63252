"""How transactions end, and what a retried end is told."""

from __future__ import annotations

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.transactions.shard import Identity
from penstock.transactions.transaction import CLASSIC, EPOCH_PER_TRANSACTION, State
from tests.transactions.stage import Stage, refusal

A, B = ("t", 0), ("u", 3)
VERSIONS = [CLASSIC, EPOCH_PER_TRANSACTION]


@pytest.fixture
def stage() -> Stage:
    return Stage()


def opened(stage: Stage, version: int = EPOCH_PER_TRANSACTION) -> Identity:
    producer = stage.init()
    stage.add(producer, A, B, version=version)
    return producer


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("commit", [True, False])
def test_every_partition_gets_its_marker_and_then_the_transaction_is_complete(
    stage: Stage, commit: bool, version: int
) -> None:
    producer = opened(stage, version)
    stage.end(producer, commit=commit, version=version)
    raised = version == EPOCH_PER_TRANSACTION
    assert [place for place, _ in stage.markers.written] == [A, B]
    for _, ending in stage.markers.written:
        assert (ending.producer_id, ending.producer_epoch) == (producer[0], producer[1] + raised)
        assert (ending.commit, ending.transaction_version) == (commit, version)
        assert ending.coordinator_epoch == 1
    assert stage.state.state is (State.COMPLETE_COMMIT if commit else State.COMPLETE_ABORT)
    assert stage.state.partitions == frozenset()


def test_a_classic_end_keeps_the_epoch(stage: Stage) -> None:
    producer = opened(stage, CLASSIC)
    assert stage.end_classic(producer) == producer


def test_from_version_2_on_the_end_raises_the_epoch(stage: Stage) -> None:
    producer = opened(stage)
    assert stage.end(producer) == (producer[0], producer[1] + 1)


def test_a_classic_end_can_be_repeated_but_not_turned_round(stage: Stage) -> None:
    producer = opened(stage, CLASSIC)
    stage.end_classic(producer)
    appends = stage.log.appends
    assert stage.end_classic(producer) == producer
    assert stage.log.appends == appends
    assert refusal(lambda: stage.end_classic(producer, commit=False)) is ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("commit", [True, False])
def test_a_repeated_end_of_version_2_gives_the_same_answer(stage: Stage, commit: bool) -> None:
    producer = opened(stage)
    told = stage.end(producer, commit=commit)
    appends = stage.log.appends
    assert stage.end(producer, commit=commit) == told
    assert stage.log.appends == appends
    assert refusal(lambda: stage.end(producer, commit=not commit)) is ErrorCode.INVALID_TXN_STATE


def test_a_late_end_does_not_end_the_next_transaction(stage: Stage) -> None:
    producer = opened(stage)
    next_one = stage.end(producer)
    stage.add(next_one, A)
    before = stage.state
    assert refusal(lambda: stage.end(producer)) is ErrorCode.PRODUCER_FENCED
    assert refusal(lambda: stage.end(producer, commit=False)) is ErrorCode.PRODUCER_FENCED
    assert stage.state == before


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("commit", [True, False])
def test_an_end_while_it_is_ending_is_asked_to_come_again(stage: Stage, commit: bool, version: int) -> None:
    producer = opened(stage, version)
    stage.markers.holding = True
    stage.end(producer, version=version)
    known = (stage.state.producer_id, stage.state.producer_epoch if version == CLASSIC else producer[1])
    code = refusal(lambda: stage.end(known, commit=commit, version=version))
    assert code is ErrorCode.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_strangers_cannot_end_it(stage: Stage, version: int) -> None:
    assert refusal(lambda: stage.end((1, 0), version=version)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    pid, epoch = opened(stage, version)
    before = stage.state
    for stranger, code in (
        ((pid + 1, epoch), ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        ((pid, epoch + 1), ErrorCode.PRODUCER_FENCED),
        ((pid, epoch - 1), ErrorCode.PRODUCER_FENCED),
    ):
        assert refusal(lambda: stage.end(stranger, version=version)) is code  # noqa: B023
    assert stage.state == before


def test_without_a_transaction_a_classic_end_is_refused(stage: Stage) -> None:
    producer = stage.init()
    for commit in (True, False):
        code = refusal(lambda: stage.end_classic(producer, commit=commit))  # noqa: B023
        assert code is ErrorCode.INVALID_TXN_STATE


def test_from_version_2_on_an_abort_of_nothing_raises_the_epoch_and_a_commit_is_refused(stage: Stage) -> None:
    producer = stage.init()
    assert refusal(lambda: stage.end(producer)) is ErrorCode.INVALID_TXN_STATE
    raised = stage.end(producer, commit=False)
    assert raised == (producer[0], producer[1] + 1)
    assert refusal(lambda: stage.end(raised)) is ErrorCode.INVALID_TXN_STATE
    assert stage.end(raised, commit=False) == (producer[0], producer[1] + 2)
    assert stage.markers.written == []


def test_the_last_epoch_ends_with_a_new_producer_id(stage: Stage) -> None:
    last = stage.exhausted()
    stage.add(last, A)
    stage.markers.holding = True
    assert stage.end(last) == (last[0] + 1, 0)
    # The marker closes what was written under the old id, in the one epoch that no client ever had.
    ((ending, _),) = stage.markers.held
    assert (ending.producer_id, ending.producer_epoch) == (last[0], 32_767)
    assert refusal(lambda: stage.add((last[0] + 1, 0), A)) is ErrorCode.CONCURRENT_TRANSACTIONS
    stage.markers.release()
    stage.add((last[0] + 1, 0), A)


def test_an_end_that_used_up_the_epochs_can_be_repeated(stage: Stage) -> None:
    last = stage.exhausted()
    stage.add(last, A)
    told = stage.end(last)
    assert stage.end(last) == told == (last[0] + 1, 0)


def test_a_transaction_in_its_last_epoch_can_still_be_fenced(stage: Stage) -> None:
    last = stage.exhausted()
    stage.add(last, A)
    assert refusal(stage.init) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert (stage.state.producer_id, stage.state.producer_epoch) == (last[0], 32_767)
    assert stage.init() == (last[0] + 1, 0)
