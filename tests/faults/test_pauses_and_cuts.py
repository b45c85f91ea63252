"""A5: paused processes, cuts in one direction and in both, clocks that jump by an hour, and all of it mixed:
no acknowledged record is lost, nothing that was read disappears, and no epoch has two leaders."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import pytest

from penstock.testing.cluster import Cluster, Network, Node, Software
from penstock.testing.history.availability import longest_gaps
from tests.faults import wrong_clock
from tests.faults.clusters import FENCED_SECONDS, PARTITIONS, QUICK, RATE, SHORT_RATE, Round
from tests.faults.clusters import software as software
from tests.faults.wrong_clock import WrongClock

HOUR: Final = 3600
LONG_SECONDS: Final = 600.0
FAULTS_OF_A_ROUND: Final = 5


@dataclass(frozen=True, slots=True)
class Rig:
    """A cluster in a network of its own, with a clock for each node."""

    cluster: Cluster
    network: Network
    clocks: dict[int, WrongClock]
    random: Random

    def others(self, node: Node) -> list[int]:
        return [number for number in self.cluster.brokers if number != node.number]

    def heal(self) -> None:
        self.network.heal()
        for node in self.cluster.brokers.values():
            if node.is_paused:
                node.resume()


def pause(rig: Rig, leader: Node) -> None:
    leader.pause()


def pause_a_follower(rig: Rig, leader: Node) -> None:
    rig.cluster.brokers[rig.random.choice(rig.others(leader))].pause()


def cut_off(rig: Rig, leader: Node) -> None:
    """From the other brokers; clients still reach it, and it does not know yet that it leads no more."""
    rig.network.isolate(leader.number)


def unplug(rig: Rig, leader: Node) -> None:
    rig.network.unplug(leader.number)


def mute(rig: Rig, leader: Node) -> None:
    """It hears the others; they do not hear it."""
    for other in rig.others(leader):
        rig.network.cut(leader.number, other)


def deafen(rig: Rig, leader: Node) -> None:
    """They hear it; it does not hear them."""
    for other in rig.others(leader):
        rig.network.cut(other, leader.number)


def cut_one_link(rig: Rig, leader: Node) -> None:
    """Both still have a third node to talk to."""
    rig.network.cut_both(leader.number, rig.random.choice(rig.others(leader)))


def jump(rig: Rig, leader: Node) -> None:
    """The leader's clock is an hour wrong, and stays wrong until it jumps again."""
    rig.clocks[leader.number].set(rig.random.choice((-HOUR, 0, HOUR)))


def jump_everywhere(rig: Rig, leader: Node) -> None:
    for clock in rig.clocks.values():
        clock.set(rig.random.randint(-HOUR, HOUR))


FAULTS: Final[tuple[Callable[[Rig, Node], None], ...]] = (
    pause,
    pause_a_follower,
    cut_off,
    unplug,
    mute,
    deafen,
    cut_one_link,
    jump,
    jump_everywhere,
)

SHORT: Final = (pause, cut_off, mute, jump_everywhere)


@pytest.fixture
def rig(tmp_path: Path, software: Software, seed: int) -> Iterator[Rig]:
    if (reason := Network.why_not() or wrong_clock.why_not()) is not None:
        pytest.skip(reason)
    with Network() as network:
        cluster = Cluster(tmp_path, software, settings=QUICK, network=network)
        clocks = {number: WrongClock(node) for number, node in cluster.brokers.items()}
        with cluster:
            yield Rig(cluster, network, clocks, Random(seed))


@pytest.mark.claim("A5")
@pytest.mark.timeout(1800)
def test_pauses_cuts_and_wrong_clocks_lose_nothing(rig: Rig, long_form: bool) -> None:
    """In the short form a few, once each; in the long form all of them by chance, one or two at a time."""
    end, acked, names, gaps = time.monotonic() + LONG_SECONDS, 0, list[str](), list[float]()
    chosen = by_chance(rig.random) if long_form else iter([[fault] for fault in SHORT])
    for number in range(10_000):
        with Round(rig.cluster, f"hurt-{number}", rate=RATE if long_form else SHORT_RATE) as played:
            for _ in range(FAULTS_OF_A_ROUND if long_form else len(SHORT)):
                faults = next(chosen)
                hurt(rig, played, faults)
                names.append(" and ".join(sorted(fault.__name__ for fault in faults)))
        assert played.history is not None
        gaps += longest_gaps(played.history, played.moments)
        acked += played.flow.acked
        if not long_form or time.monotonic() >= end:
            break
    print(f"{rig.cluster.software.name}: {len(gaps)} faults, {acked} records acknowledged")
    for name, count in Counter(names).most_common():
        of_name = sorted(gap for gap, of in zip(gaps, names, strict=True) if of == name)
        median, longest = of_name[len(of_name) // 2], of_name[-1]
        print(f"  {name}, {count} times: a gap of {median:.1f} s (median), {longest:.1f} s at most")


def hurt(rig: Rig, played: Round, faults: list[Callable[[Rig, Node], None]]) -> None:
    """Break something for longer than a session lasts, then heal, and wait until all is as it was."""
    leader = rig.cluster.brokers[rig.cluster.leader_of(played.topic, rig.random.randrange(PARTITIONS))]
    threading.Event().wait(rig.random.uniform(0.0, 0.5))  # at a random moment of the flow
    played.fault()
    for fault in faults:
        fault(rig, leader)
    threading.Event().wait(FENCED_SECONDS)
    rig.heal()
    played.wait_served()
    rig.cluster.wait_in_sync(played.topic)


def by_chance(random: Random) -> Iterator[list[Callable[[Rig, Node], None]]]:
    while True:
        yield random.sample(FAULTS, random.randint(1, 2))
