"""A9 in a cluster: the disk of a leader fails, or is full. Others lead, or records wait; nothing is lost, and
all is as before when the disk is."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.testing.cluster import Software
from tests.faults.clusters import Round
from tests.faults.clusters import software as software
from tests.faults.volumes import powered


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
