"""The ways in which `test_pipeline_killed` kills a pipeline, drawn like cards so that none is forgotten.

`task`: the Python process of one task, which Spark tries again. `python`: the Python of a whole executor,
with every task in it. `executor`: the JVM of an executor, with its shuffle files; only a cluster has one.
`driver` and `broker`: each of them, at once and without a word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Protocol

from tests.faults.pipeline_rig import Driver, Rig


class Killable(Protocol):
    """A broker that is killed and started on what it left, at the same address."""

    @property
    def bootstrap_servers(self) -> str: ...

    def kill(self) -> None: ...

    def start(self) -> object: ...


Way = Callable[[], bool]
"""Kills; False when there was nothing to kill at the moment."""


def ways(rig: Rig, driver: Driver, broker: Killable, chooser: Random, *, cluster: bool) -> dict[str, Way]:
    """Every way to kill this pipeline, by name."""

    def kill_driver() -> bool:
        driver.kill()
        return True

    def kill_broker() -> bool:
        broker.kill()
        broker.start()
        return True

    found: dict[str, Way] = {
        "task": lambda: rig.kill_one(rig.tasks(), chooser),
        "python": lambda: rig.kill_one(rig.daemons(), chooser),
        "driver": kill_driver,
        "broker": kill_broker,
    }
    if cluster:
        found["executor"] = lambda: rig.kill_one(rig.find("CoarseGrainedExecutorBackend"), chooser)
    return found


class Deck:
    """Draws ways at random, each as often as the others; or those in `first`, and then no more are needed."""

    def __init__(self, ways: Mapping[str, Way], chooser: Random, first: Sequence[str] = ()) -> None:
        self._ways = ways
        self._chooser = chooser
        self._cards = list(reversed(first)) or self._shuffled()
        self.kills: Counter[str] = Counter()

    @property
    def to_come(self) -> int:
        """How many are left of this round."""
        return len(self._cards)

    def kill(self) -> None:
        """Draw one and do it; one that had nothing to kill is drawn again next time."""
        self._cards = self._cards or self._shuffled()
        if self._ways[self._cards[-1]]():
            self.kills[self._cards.pop()] += 1

    def _shuffled(self) -> list[str]:
        return self._chooser.sample(sorted(self._ways), len(self._ways))
