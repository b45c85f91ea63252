"""A quorum of one, three or five voters and an observer, from one seed: the real core, the real log."""

from __future__ import annotations

import time

import pytest

from penstock.testing.simulation.quorum import QuorumOutcome, QuorumRun

SHORT_MS = 6_000.0
LONG_MS = 60_000.0
LONG_SECONDS = 600.0


@pytest.mark.claim("A11")
@pytest.mark.parametrize("nth", range(12))
def test_a_quorum_keeps_every_property_of_raft_whatever_fails(seed: int, nth: int) -> None:
    outcome = QuorumRun(seed + nth).run(SHORT_MS)
    assert outcome.acknowledged > 50, outcome
    assert outcome.epochs > 1, outcome


@pytest.mark.claim("A11")
@pytest.mark.parametrize("nth", range(5))
def test_a_quorum_keeps_every_property_of_raft_while_voters_come_and_go(seed: int, nth: int) -> None:
    outcome = QuorumRun(seed + nth, changing_voters=True).run(SHORT_MS)
    assert outcome.voter_changes > 3, outcome
    assert outcome.acknowledged > 20, outcome
    assert outcome.epochs > 1, outcome


def test_the_same_seed_gives_the_same_quorum(seed: int) -> None:
    assert QuorumRun(seed).run(2_000) == QuorumRun(seed).run(2_000)


@pytest.mark.long
@pytest.mark.claim("A11")
@pytest.mark.timeout(2 * LONG_SECONDS)
def test_a_quorum_keeps_every_property_of_raft_from_any_seed(pytestconfig: pytest.Config, seed: int) -> None:
    if pytestconfig.getoption("--seed") is not None:
        print(QuorumRun(seed).run(SHORT_MS))
        print(QuorumRun(seed).run(LONG_MS))
        return
    end = time.monotonic() + LONG_SECONDS
    outcomes: list[QuorumOutcome] = []
    while time.monotonic() < end:
        number = len(outcomes) + 1
        try:
            run = QuorumRun(number, changing_voters=number % 2 == 0)
            outcomes.append(run.run(LONG_MS if number % 10 == 0 else SHORT_MS))
        except Exception as broken:
            raise AssertionError(f"to repeat: make sim SEED={number}") from broken
    print(told(outcomes))


def told(outcomes: list[QuorumOutcome]) -> str:
    """The figures of many runs in one line."""
    names = ("steps", "epochs", "committed", "acknowledged", "snapshots", "installed", "voter_changes")
    sums = ", ".join(f"{sum(getattr(outcome, name) for outcome in outcomes)} {name}" for name in names)
    faults = sum(count for outcome in outcomes for _, count in outcome.faults)
    return f"seeds 1 to {len(outcomes)}, no failure: {sums}, {faults} faults"
