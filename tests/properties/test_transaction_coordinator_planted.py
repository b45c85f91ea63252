"""Bugs planted in the transaction coordinator: its state machine notices each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from penstock.transactions import adding, ending, shard
from penstock.transactions.transaction import Transaction
from tests.properties.test_transaction_coordinator import Coordinated

EFFORT = settings(
    max_examples=400, stateful_step_count=40, deadline=None, database=None, phases=(Phase.generate,)
)

_completed = ending.completed


def keep_the_partitions_of_what_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def completed(present: Transaction, now_ms: int) -> Transaction:
        return replace(_completed(present, now_ms), partitions=present.partitions)

    monkeypatch.setattr(shard, "completed", completed)


def check_neither_id_nor_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    def unchecked(present: Transaction | None, producer_id: int, producer_epoch: int) -> Transaction:
        if present is None:
            raise adding.wrong_producer(producer_id)
        return present

    monkeypatch.setattr(adding, "check_producer", unchecked)
    monkeypatch.setattr(ending, "check_producer", unchecked)


def leave_what_was_prepared_after_a_reload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard.TransactionShard, "on_loaded", lambda self: None)


@pytest.mark.parametrize(
    "plant",
    [
        keep_the_partitions_of_what_has_ended,
        check_neither_id_nor_epoch,
        leave_what_was_prepared_after_a_reload,
    ],
)
def test_a_planted_bug_is_noticed(
    monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Coordinated, settings=EFFORT)
