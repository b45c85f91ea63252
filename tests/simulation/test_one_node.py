"""The real broker code with one node on a simulated network, disk and clock, in one thread, from one seed."""

from __future__ import annotations

import time

import pytest

from penstock.storage.producers import Producers
from penstock.testing.simulation.one_node import OneNodeRun

SHORT_MS = 20_000.0
LONG_MS = 120_000.0
LONG_SECONDS = 600.0
SEEDS_TO_FAIL = 20


@pytest.mark.claim("A11")
@pytest.mark.parametrize("power_cuts", [False, True], ids=["kills", "power cuts too"])
@pytest.mark.parametrize("nth", range(8))
def test_nothing_acknowledged_is_lost_whatever_dies(seed: int, nth: int, power_cuts: bool) -> None:
    outcome = OneNodeRun(seed + nth, power_cuts=power_cuts).run(SHORT_MS)
    assert outcome.acked > 100, outcome
    assert outcome.kills + outcome.power_cuts > 2, outcome


def test_the_same_seed_gives_the_same_run(seed: int) -> None:
    first = OneNodeRun(seed, power_cuts=True).run(5_000)
    second = OneNodeRun(seed, power_cuts=True).run(5_000)
    assert first == second


@pytest.mark.claim("A12")
def test_an_acknowledgement_before_the_disk_has_the_record_is_noticed() -> None:
    assert seeds_until_noticed(flush=False) <= SEEDS_TO_FAIL


@pytest.mark.claim("A12")
def test_a_broker_that_forgets_what_producers_sent_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Producers, "check", lambda self, header, guard=None: None)
    assert seeds_until_noticed(flush=True) <= SEEDS_TO_FAIL


def seeds_until_noticed(*, flush: bool) -> int:
    """How many seeds a planted bug survives."""
    for seed in range(1, SEEDS_TO_FAIL + 1):
        try:
            OneNodeRun(seed, power_cuts=True, flush=flush).run(SHORT_MS)
        except AssertionError:
            return seed
    return SEEDS_TO_FAIL + 1


@pytest.mark.long
@pytest.mark.claim("A11")
@pytest.mark.timeout(2 * LONG_SECONDS)
def test_nothing_acknowledged_is_lost_from_any_seed(pytestconfig: pytest.Config, seed: int) -> None:
    if pytestconfig.getoption("--seed") is not None:
        print(OneNodeRun(seed, power_cuts=True).run(LONG_MS))
        return
    end = time.monotonic() + LONG_SECONDS
    count = 0
    while time.monotonic() < end:
        count += 1
        for power_cuts in (False, True):
            try:
                OneNodeRun(count, power_cuts=power_cuts).run(LONG_MS)
            except AssertionError as broken:
                raise AssertionError(f"to repeat: make sim SEED={count}") from broken
    print(f"{count} seeds, no failure")
