"""A14: a disk is lost for good. An empty broker with the old number refills, and never leads what it has not;
one that was away while others wrote never leads before it has caught up."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import pytest

from penstock.testing.cluster import Cluster, Node, Software
from tests.faults.clusters import QUICK, Round
from tests.faults.clusters import software as software

WAIT_SECONDS: Final = 60.0


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, software: Software) -> Iterator[Cluster]:
    """The metadata have nodes of their own: here brokers lose their disks, and nobody else."""
    with Cluster(tmp_path_factory.mktemp("disks"), software, controllers=1, settings=QUICK) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared: Cluster) -> Cluster:
    """All of it is up, also after a test that failed."""
    shared.revive()
    return shared


@pytest.mark.claim("A14")
@pytest.mark.timeout(600)
def test_an_empty_broker_with_the_old_number_refills(cluster: Cluster) -> None:
    """The leader's disk and a follower's, under load; at the end the checker compares all files."""
    with Round(cluster, "refilled") as played:
        for role in ("leader", "follower"):
            leader = cluster.leader_of(played.topic)
            lost = leader if role == "leader" else next(n for n in cluster.brokers if n != leader)
            cluster.brokers[lost].kill()
            played.wait_served()
            cluster.brokers[lost].wipe()
            cluster.brokers[lost].start()
            cluster.wait_in_sync(played.topic)
            played.wait_served()


@pytest.mark.claim("A14")
@pytest.mark.timeout(600)
def test_of_brokers_that_all_went_down_the_empty_one_does_not_lead(cluster: Cluster) -> None:
    """All were in sync when they were killed, and the one without its disk comes back first."""
    with Round(cluster, "emptied") as played:
        leader = cluster.leader_of(played.topic)
        for node in cluster.brokers.values():
            node.kill()
        cluster.brokers[leader].wipe()
        cluster.brokers[leader].start()
        cluster.wait_until(lambda: answers(cluster, leader), "the empty broker", WAIT_SECONDS)
        assert not leads(cluster, played.topic, leader)
        for node in others(cluster, leader):
            node.start()
        cluster.wait_in_sync(played.topic)


@pytest.mark.claim("A14")
@pytest.mark.timeout(600)
def test_a_stale_broker_never_leads(cluster: Cluster, long_form: bool) -> None:
    """One is away while two write on; then the two go and it comes back alone; then one of the two."""
    matrix = itertools.product(cluster.brokers, (False, True)) if long_form else [(1, False)]
    for stale, returns_last in matrix:
        with Round(cluster, f"stale-{stale}-{returns_last}") as played:
            first, second = others(cluster, stale)
            cluster.brokers[stale].kill()
            played.wait_served()
            first.kill()
            second.kill()
            cluster.brokers[stale].start()
            cluster.wait_until(lambda at=stale: answers(cluster, at), "the stale broker", WAIT_SECONDS)  # type: ignore[misc]
            assert not leads(cluster, played.topic, stale)
            for node in (second, first) if returns_last else (first, second):
                node.start()
            cluster.wait_in_sync(played.topic)


def answers(cluster: Cluster, number: int) -> bool:
    """Whether this broker is back, and knows that the others are not."""
    return any(view.teller == number and view.brokers == {number} for view in cluster.views())


def leads(cluster: Cluster, topic: str, number: int) -> bool:
    return any(view.leader == number for view in cluster.partitions(topic).values())


def others(cluster: Cluster, number: int) -> list[Node]:
    return [node for node in cluster.brokers.values() if node.number != number]
