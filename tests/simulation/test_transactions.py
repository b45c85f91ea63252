"""Transactions of the real broker in the simulator, judged by the checker; and bugs planted in it, which the
checker notices."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest

from penstock.server.cluster import cluster_markers
from penstock.server.cluster.cluster_markers import ClusterMarkers
from penstock.server.cluster.local_markers import LocalMarkers
from penstock.storage.producers import Producers
from penstock.testing.history import check
from penstock.testing.simulation.transactions import TransactionsRun
from penstock.transactions import adding, ending, shard
from penstock.transactions.shard import TransactionShard
from penstock.transactions.transaction import State, Transaction

SHORT_MS = 10_000.0
LONG_MS = 60_000.0
LONG_SECONDS = 600.0
SEEDS = 12
EVERY = 10

Plant = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.claim("A11")
@pytest.mark.parametrize("power_cuts", [False, True], ids=["kills", "power cuts too"])
@pytest.mark.parametrize("nth", range(3))
def test_transactions_are_whole_or_gone_whatever_dies(seed: int, nth: int, power_cuts: bool) -> None:
    outcome = TransactionsRun(seed + nth, power_cuts=power_cuts).judge(SHORT_MS)
    assert outcome.committed > 20, outcome


@pytest.mark.long
@pytest.mark.claim("A11")
@pytest.mark.timeout(2 * LONG_SECONDS)
def test_transactions_are_whole_or_gone_from_any_seed() -> None:
    end, count = time.monotonic() + LONG_SECONDS, 0
    while time.monotonic() < end:
        count += 1
        for power_cuts in (False, True):
            TransactionsRun(count, power_cuts=power_cuts).judge(LONG_MS)
    print(f"{count} seeds, no failure")


# Planted bugs


def skip_a_marker(monkeypatch: pytest.MonkeyPatch) -> None:
    """One in ten is taken for written."""
    original, number = LocalMarkers.write, itertools.count(1)

    def write(self: LocalMarkers, marker: Any, topic: str, index: int, tell: Any) -> None:
        if next(number) % EVERY == 0:
            tell(True)
        else:
            original(self, marker, topic, index, tell)

    monkeypatch.setattr(LocalMarkers, "write", write)


def write_the_wrong_marker(monkeypatch: pytest.MonkeyPatch) -> None:
    """One in ten says the contrary."""
    original, number = cluster_markers.TransactionMarker, itertools.count(1)

    def marker(pid: int, epoch: int, coordinator: int, commit: bool, version: int) -> Any:
        return original(pid, epoch, coordinator, commit ^ (next(number) % EVERY == 0), version)

    monkeypatch.setattr(cluster_markers, "TransactionMarker", marker)


def forget_what_was_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator that is loaded again aborts what had been decided."""
    original = TransactionShard.on_loaded

    def loaded(self: TransactionShard) -> None:
        for name, found in self._transactions.items():
            if found.state is State.PREPARE_COMMIT:
                self._transactions[name] = found.moved(State.PREPARE_ABORT, found.update_ms)
        original(self)

    monkeypatch.setattr(TransactionShard, "on_loaded", loaded)
    # so that there is something between the decision and its markers for a kill to hit
    hold_markers(monkeypatch)


def hold_markers(monkeypatch: pytest.MonkeyPatch) -> None:
    """No bug: every other ending is written at the second attempt only."""
    original, number = ClusterMarkers.write, itertools.count(1)

    def write(self: ClusterMarkers, ending: Any, done: Any) -> None:
        if next(number) % 2:
            done(ending.partitions)
        else:
            original(self, ending, done)

    monkeypatch.setattr(ClusterMarkers, "write", write)


def check_no_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever knows the producer id may write and end, in whatever epoch."""

    def unchecked(present: Transaction | None, producer_id: int, producer_epoch: int) -> Transaction:
        if present is None or present.producer_id != producer_id:
            raise adding.wrong_producer(producer_id)
        return present

    monkeypatch.setattr(adding, "check_producer", unchecked)
    monkeypatch.setattr(ending, "check_producer", unchecked)


def keep_the_open_transaction_of_a_predecessor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new producer does not abort what it finds open: it takes it over."""
    original = shard.decide_initialise

    def decide(name: str, present: Transaction | None, *rest: Any) -> Transaction:
        if present is not None and present.is_open:
            return present.moved(State.ONGOING, rest[-1])
        return original(name, present, *rest)

    monkeypatch.setattr(shard, "decide_initialise", decide)


def forget_open_transactions_in_recovery(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions do not know after a start what was open: readers see it at once."""
    monkeypatch.setattr(Producers, "first_unstable", lambda self: None)


BUGS = [
    skip_a_marker,
    write_the_wrong_marker,
    forget_what_was_prepared,
    check_no_epoch,
    keep_the_open_transaction_of_a_predecessor,
    forget_open_transactions_in_recovery,
]


@pytest.mark.claim("A12")
@pytest.mark.parametrize("plant", BUGS, ids=[plant.__name__ for plant in BUGS])
def test_a_planted_bug_is_noticed(monkeypatch: pytest.MonkeyPatch, plant: Plant) -> None:
    plant(monkeypatch)
    for seed in range(1, SEEDS + 1):
        began = time.monotonic()
        try:
            violations = check(TransactionsRun(seed, power_cuts=False).play(SHORT_MS))
        except AssertionError as noticed:
            found = f"{noticed}"
        else:
            if not violations:
                continue
            found = f"{violations[0]}"
        print(f"{plant.__name__}: seed {seed}, {time.monotonic() - began:.1f} s, {found}")
        return
    pytest.fail(f"not noticed in {SEEDS} runs")


def test_markers_that_come_late_are_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    hold_markers(monkeypatch)
    assert TransactionsRun(1, power_cuts=False).judge(SHORT_MS).committed > 5
