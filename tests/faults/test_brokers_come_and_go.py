"""A broker is added to a running cluster and gets its share, and another is emptied and taken away, all under
load: no acknowledged record is lost, and clients notice nothing."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import pytest

from penstock.testing.cluster import Cluster, Software
from penstock.testing.history.availability import longest_gaps
from tests.faults.clusters import PARTITIONS, QUICK, Round
from tests.faults.clusters import software as software

ADDED: Final = 4
REMOVED: Final = 1


@pytest.mark.timeout(600)
def test_a_broker_is_added_and_one_removed_under_load(tmp_path: Path, software: Software) -> None:
    with (
        Cluster(tmp_path, software, controllers=1, settings=QUICK) as cluster,
        Round(cluster, "moved") as played,
    ):
        begun = time.monotonic()
        cluster.add_broker(ADDED).start()
        cluster.wait_for_brokers(cluster.brokers)
        added = time.monotonic() - begun
        played.fault()
        begun = time.monotonic()
        target = dict.fromkeys(range(PARTITIONS), (ADDED, 2, 3))
        cluster.reassign(played.topic, target)
        cluster.wait_reassigned(played.topic, target)
        moved = time.monotonic() - begun
        played.fault()
        cluster.brokers[REMOVED].stop()
        cluster.forget_broker(REMOVED)
        cluster.wait_for_brokers(cluster.brokers)
        played.wait_served()
    assert played.history is not None
    gaps = longest_gaps(played.history, played.moments)
    print(
        f"{software.name}: added in {added:.1f} s, {PARTITIONS} partitions moved in {moved:.1f} s; without "
        f"acknowledgement {gaps[0]:.1f} s while they moved, {gaps[1]:.1f} s when the other one left"
    )
