"""A9 in a cluster: the disk of a leader fails, or is full. Others lead, or records wait; nothing is lost, and
all is as before when the disk is."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.testing.cluster import Cluster, Software
from tests.faults.clusters import Round
from tests.faults.clusters import software as software
from tests.faults.volumes import powered, two_disks


@pytest.mark.claim("A9")
@pytest.mark.timeout(600)
def test_when_the_disk_of_a_leader_fails_others_lead(tmp_path: Path, software: Software) -> None:
    with powered(tmp_path, software, {}) as rig, Round(rig.cluster, "failing") as played:
        leader = rig.cluster.leader_of(played.topic)
        rig.fail(leader)
        rig.cluster.wait_until(
            lambda: rig.cluster.leader_of(played.topic) != leader,
            "another leader than the one without a disk",
        )
        played.wait_served()
        rig.cut([leader])
        rig.restore([leader])


@pytest.mark.claim("A9")
@pytest.mark.timeout(600)
def test_when_one_of_two_disks_of_a_leader_fails_it_leads_what_is_on_the_other(
    tmp_path: Path, software: Software
) -> None:
    """KIP-858. When the disk is back, so are the replicas on it."""
    with two_disks(tmp_path, software) as rig, Round(rig.cluster, "jbod", partitions=12) as played:
        led = {number: view.leader for number, view in rig.cluster.partitions(played.topic).items()}
        on_second = {
            broker: {number for number in led if rig.has_on_second(broker, f"{played.topic}-{number}")}
            for broker in rig.cluster.brokers
        }
        leads = {broker: {number for number in led if led[number] == broker} for broker in on_second}
        mixed = [each for each in leads if leads[each] & on_second[each] and leads[each] - on_second[each]]
        assert mixed, f"nobody leads on both disks: {led}, {on_second}"
        broker = mixed[0]
        rig.fail(broker)
        rig.cluster.wait_until(
            lambda: not on_second[broker] & in_sync(rig.cluster, played.topic, broker),
            "others to go on without the replicas on the failed disk",
        )
        played.wait_served()
        assert in_sync(rig.cluster, played.topic, broker) == led.keys() - on_second[broker]
        now = {number: view.leader for number, view in rig.cluster.partitions(played.topic).items()}
        assert {number for number in now if now[number] == broker} == leads[broker] - on_second[broker]
        assert -1 not in now.values()
        assert rig.cluster.brokers[broker].is_running
        rig.repair(broker)


@pytest.mark.claim("A9")
@pytest.mark.timeout(600)
def test_a_full_disk_loses_nothing_and_service_returns_with_the_space(
    tmp_path: Path, software: Software
) -> None:
    """Apache Kafka's broker ends when its only disk is full, and is started again; Penstock's waits."""
    with powered(tmp_path, software, {}) as rig, Round(rig.cluster, "full") as played:
        for role in ("follower", "leader"):
            leader = rig.cluster.leader_of(played.topic)
            number = leader if role == "leader" else next(n for n in rig.cluster.brokers if n != leader)
            ballast = rig.fill(number)
            if role == "follower":
                played.wait_served()
            rig.cluster.wait_until(lambda n=number: noticed(rig.cluster.brokers[n].log_tail()), "a full disk")  # type: ignore[misc]
            ballast.unlink()
            node = rig.cluster.brokers[number]
            if not node.is_running:
                node.start()
            rig.cluster.wait_in_sync(played.topic)
            played.wait_served()


def noticed(log: str) -> bool:
    return "No space left" in log or "space" in log.lower()


def in_sync(cluster: Cluster, topic: str, broker: int) -> set[int]:
    """The partitions for which this broker is in the ISR."""
    return {number for number, view in cluster.partitions(topic).items() if broker in view.isr}
