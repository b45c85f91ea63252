"""Bugs planted in the transaction coordinator that its state machine notices; a missing check of epochs is
noticed in tests/simulation/test_transactions.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from penstock.transactions import ending, shard
from penstock.transactions.transaction import Transaction
from tests.properties.test_transaction_coordinator import Coordinated

EFFORT = settings(
    max_examples=200, stateful_step_count=40, deadline=None, database=None, phases=(Phase.generate,)
)

_completed = ending.completed


def keep_the_partitions_of_what_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def completed(present: Transaction, now_ms: int) -> Transaction:
        return replace(_completed(present, now_ms), partitions=present.partitions)

    monkeypatch.setattr(shard, "completed", completed)


def leave_what_was_prepared_after_a_reload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard.TransactionShard, "on_loaded", lambda self: None)


@pytest.mark.parametrize(
    "plant", [keep_the_partitions_of_what_has_ended, leave_what_was_prepared_after_a_reload]
)
def test_a_planted_bug_is_noticed(
    monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Coordinated, settings=EFFORT)
