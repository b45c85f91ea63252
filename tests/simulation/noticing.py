"""Bugs planted into simulated clusters: whether, at which seed and how soon one is noticed."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from penstock.testing.simulation.cluster.run import ClusterRun

RUN_MS = 8_000.0
SEEDS = 25

Patch = pytest.MonkeyPatch
Plant = Callable[[Patch], None]
Record = Callable[[str, object], None]


def must_be_noticed(plant: Plant, run_of: Callable[[int], ClusterRun], record_property: Record) -> None:
    """Run seed after seed until the rules, or the history's judge, object to the bug that is planted."""
    began = time.process_time()
    for seed in range(1, SEEDS + 1):
        run = run_of(seed)
        try:
            run.run(RUN_MS)
        except AssertionError as broken:
            seconds = time.process_time() - began
            found = f"seed {seed}, second {run.elapsed_ms / 1000:.1f} of its time, {seconds:.1f} s of ours"
            record_property("noticed", found)
            print(f"{plant.__name__}: {found}\n  {str(broken)[:200]}")
            return
    pytest.fail(f"not noticed in {SEEDS} runs")
