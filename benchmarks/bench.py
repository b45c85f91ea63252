"""What a section is given: brokers, the generator, how long and how often to measure, and the alternation.

Samples are taken in turns (A B A B …), so that a noisy machine is noisy for both.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from benchmarks.batches import batch_of
from benchmarks.generator import Generator, Outcome
from benchmarks.plan import Plan
from benchmarks.results import Row, Sample
from benchmarks.systems import System, running
from benchmarks.topics import topic


class Named(Protocol):
    """A broker, or whatever else is measured beside another."""

    @property
    def name(self) -> str: ...


Measured = TypeVar("Measured", bound=Named)


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured. Everything that is written must fit into the page cache several times."""

    rounds: int
    warm_ms: int
    run_ms: int
    max_bytes: int
    """Of one run; below what makes Linux write dirty pages back while we measure."""
    warm_up_seconds: float
    """For a JVM to compile what it runs most, before the first sample."""
    quick: bool


FULL = Effort(3, 500, 2000, 1_200_000_000, 15.0, False)
QUICK = Effort(1, 200, 700, 500_000_000, 2.0, True)


@dataclass(frozen=True, slots=True)
class Bench:
    work: Path
    generator: Generator
    effort: Effort
    with_kafka: bool

    @contextmanager
    def systems(self) -> Iterator[list[System]]:
        """Fresh brokers on empty directories, warmed up."""
        with running(self.work, with_kafka=self.with_kafka) as systems:
            for system in systems:
                self.warm_up(system)
            yield systems

    def warm_up(self, system: System) -> None:
        """Small and large batches, written and read."""
        share_ms = int(self.effort.warm_up_seconds * 1000 / 4)
        for batch_bytes in (1024, 100 * 1024):
            batch = batch_of(100, batch_bytes)
            with topic(system, 4) as name:
                plan = Plan()
                for partition in range(4):
                    plan.producer(name, [partition], batch)
                produced = self.load(system, plan, warm_ms=0, run_ms=share_ms)
                plan = Plan()
                for partition in range(4):
                    plan.consumer(name, partition, end=produced.answered[partition] * batch.records)
                self.load(system, plan, warm_ms=0, run_ms=share_ms, max_bytes=1 << 40)

    def load(
        self,
        system: System,
        plan: Plan,
        *,
        warm_ms: int | None = None,
        run_ms: int | None = None,
        max_bytes: int | None = None,
    ) -> Outcome:
        effort = self.effort
        return self.generator.run(
            plan,
            system.address,
            pid=system.pid,
            warm_ms=effort.warm_ms if warm_ms is None else warm_ms,
            run_ms=effort.run_ms if run_ms is None else run_ms,
            max_bytes=effort.max_bytes if max_bytes is None else max_bytes,
        )

    def alternate(
        self,
        case: str,
        systems: Sequence[Measured],
        measure: Callable[[Measured], Sample],
        *,
        rounds: int | None = None,
    ) -> Row:
        """One sample of each system in turn, round after round."""
        row = Row(case, {system.name: [] for system in systems})
        for _ in range(rounds or self.effort.rounds):
            for system in systems:
                sample = measure(system)
                row.samples[system.name].append(sample)
                shown = ", ".join(f"{name} {value:,.3g}" for name, value in sample.items())
                say(f"  {case} | {system.name}: {shown}")
        return row


def say(line: str) -> None:
    """Progress, beside the tables on standard output."""
    print(line, file=sys.stderr, flush=True)
