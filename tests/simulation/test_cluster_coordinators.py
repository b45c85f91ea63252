"""Transactions and a group on a whole cluster from one seed: coordinators move, markers go to other brokers,
and every bug planted there is noticed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.coordinator.runtime import Runtime
from penstock.protocol.errors import ErrorCode
from penstock.replication.partition import Partition
from penstock.server.cluster.cluster_markers import ClusterMarkers
from penstock.testing.simulation.cluster.coordinated import CoordinatedRun
from penstock.testing.simulation.cluster.plan import ClusterPlan
from penstock.transactions.markers import Ending
from tests.simulation.noticing import Patch, Plant, Record, must_be_noticed

SHORT_MS = 5_000.0
LONG_MS = 20_000.0
LONG_SECONDS = 600.0
KILLS = ClusterPlan(fault_every_ms=700.0, fault_lasts_ms=1_200.0)
PLANS = {
    "kills and cuts": KILLS,
    "all lose power": replace(KILLS, power_cuts=True, flush=True),
}


@pytest.mark.claim("A11")
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_transactions_are_whole_and_commits_never_go_back(seed: int, plan: ClusterPlan) -> None:
    outcome = CoordinatedRun(seed, plan=plan).run(SHORT_MS)
    assert outcome.acked > 0, outcome


def test_the_same_seed_gives_the_same_run(seed: int) -> None:
    first, second = CoordinatedRun(seed).run(2_000), CoordinatedRun(seed).run(2_000)
    assert first == second


@pytest.mark.long
@pytest.mark.claim("A11")
@pytest.mark.timeout(2 * LONG_SECONDS)
def test_transactions_are_whole_from_any_seed(pytestconfig: pytest.Config, seed: int) -> None:
    if pytestconfig.getoption("--seed") is not None:
        print(CoordinatedRun(seed, plan=PLANS["kills and cuts"]).run(LONG_MS))
        return
    end, seeds, sums = time.monotonic() + LONG_SECONDS, 0, Counter[str]()
    while time.monotonic() < end:
        seeds += 1
        plan = list(PLANS.values())[seeds % len(PLANS)]
        run = CoordinatedRun(seeds, plan=plan)
        try:
            outcome = run.run(LONG_MS)
        except AssertionError as broken:
            raise AssertionError(f"seed {seeds}, {plan}") from broken
        sums.update(steps=outcome.steps, leaderships=outcome.leaderships, **run.counts)
        sums.update(dict(outcome.faults))
    print(f"{seeds} seeds, no failure:", ", ".join(f"{what} {count}" for what, count in sums.items()))


def serve_before_the_shard_is_loaded(patch: Patch) -> None:
    patch.setattr(Runtime, "_replay_all", staticmethod(lambda shard: 0))


def acknowledge_markers_before_they_are_replicated(patch: Patch) -> None:
    def when_acknowledged(self: Partition, end: int, epoch: int, tell: Callable[[ErrorCode], None]) -> None:
        tell(ErrorCode.NONE)

    patch.setattr(Partition, "when_acknowledged", when_acknowledged)


def answer_before_it_is_committed(patch: Patch) -> None:
    """A coordinator says yes to what its followers do not have."""
    patch.setattr(Runtime, "_collect", staticmethod(lambda shard: shard.context.take_outbox()))


def write_markers_to_partitions_led_here_only(patch: Patch) -> None:
    original = ClusterMarkers.write

    def write(self: ClusterMarkers, ending: Ending, done: Any) -> None:
        here = frozenset(at for at in ending.partitions if self._leader_of(*at) in (None, self._node_id))
        original(self, ending._replace(partitions=here), done)

    patch.setattr(ClusterMarkers, "write", write)


BUGS: list[Plant] = [serve_before_the_shard_is_loaded]
SLOWER: list[Plant] = [
    acknowledge_markers_before_they_are_replicated,
    answer_before_it_is_committed,
    write_markers_to_partitions_led_here_only,
]


@pytest.mark.claim("A12")
@pytest.mark.parametrize("plant", [*BUGS, *(pytest.param(bug, marks=pytest.mark.long) for bug in SLOWER)])
def test_a_planted_bug_is_noticed(monkeypatch: Patch, record_property: Record, plant: Plant) -> None:
    plant(monkeypatch)
    must_be_noticed(plant, lambda seed: CoordinatedRun(seed, plan=KILLS), record_property)
