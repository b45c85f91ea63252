"""A1: leaders killed with -9 under acks=all, three copies, two of them in sync at least: no acknowledged
record is lost, and clients ride through with no error."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from random import Random

import pytest

from penstock.testing.cluster import Cluster, Software
from penstock.testing.history.availability import longest_gaps
from tests.faults.clusters import PARTITIONS, QUICK, RATE, SHORT_RATE, Round
from tests.faults.clusters import software as software

SHORT_KILLS = 2
LONG_KILLS_OF_A_ROUND = 5
LONG_SECONDS = 600.0


@pytest.mark.claim("A1")
@pytest.mark.timeout(1500)
def test_killed_leaders_lose_nothing_that_was_acknowledged(
    tmp_path: Path, software: Software, seed: int, long_form: bool
) -> None:
    random, gaps, acked = Random(seed), list[float](), 0
    end = time.monotonic() + (LONG_SECONDS if long_form else 0)
    with Cluster(tmp_path, software, settings=QUICK) as cluster:
        for number in range(10_000):
            kills = LONG_KILLS_OF_A_ROUND if long_form else SHORT_KILLS
            with Round(cluster, f"killed-{number}", rate=RATE if long_form else SHORT_RATE) as played:
                for _ in range(kills):
                    kill_a_leader(played, random)
            assert played.history is not None
            gaps += longest_gaps(played.history, played.moments)
            acked += played.flow.acked
            if time.monotonic() >= end:
                break
    median = sorted(gaps)[len(gaps) // 2]
    print(
        f"{software.name}: {len(gaps)} leaders killed, {acked} records acknowledged, "
        f"without acknowledgement {median:.1f} s (median), {max(gaps):.1f} s (longest)"
    )


def kill_a_leader(played: Round, random: Random) -> None:
    cluster = played.cluster
    victim = cluster.brokers[cluster.leader_of(played.topic, random.randrange(PARTITIONS))]
    threading.Event().wait(random.uniform(0.1, 1.0))  # at a random moment of the flow
    played.fault()
    victim.kill()
    cluster.wait_for_brokers(set(cluster.brokers) - {victim.number})
    played.wait_served()
    victim.start()
    cluster.wait_in_sync(played.topic)
