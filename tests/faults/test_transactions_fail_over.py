"""A8 in a cluster: random transactions, a quarter of them aborted, while brokers are killed and stopped in
turn; partitions and coordinators move, and every transaction is whole or gone."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from random import Random
from typing import Final

import pytest

from penstock.testing.cluster import Cluster, Software
from penstock.testing.history import Recorder, assert_kept
from penstock.testing.history.clients import read_to_the_end
from penstock.testing.history.events import Isolation, Partition
from tests.faults.clusters import QUICK
from tests.faults.clusters import software as software
from tests.faults.test_random_transactions import DEADLINE_SECONDS, PARTITIONS, Auditor, Banker

BANKERS: Final = 3
SHORT_ENDS: Final = 2
LONG_ENDS_OF_A_ROUND: Final = 6
LONG_SECONDS: Final = 600.0


@pytest.mark.claim("A8")
@pytest.mark.timeout(1800)
def test_random_transactions_are_whole_or_gone_when_brokers_end(
    tmp_path: Path, software: Software, seed: int, long_form: bool
) -> None:
    random, ended, committed, aborted = Random(seed), 0, 0, 0
    end = time.monotonic() + (LONG_SECONDS if long_form else 0)
    with Cluster(tmp_path, software, settings=QUICK) as cluster:
        for number in range(10_000):
            ends = LONG_ENDS_OF_A_ROUND if long_form else SHORT_ENDS
            bankers = play_round(cluster, f"accounts-{number}", random, ends)
            ended += ends
            committed += sum(banker.committed for banker in bankers)
            aborted += sum(banker.aborted for banker in bankers)
            if time.monotonic() >= end:
                break
    print(f"{software.name}: {ended} brokers ended, {committed} transactions committed, {aborted} aborted")
    assert committed
    assert aborted


def play_round(cluster: Cluster, topic: str, random: Random, ends: int) -> list[Banker]:
    """Transactions, ends of brokers, full reads and the verdict."""
    servers, recorder = cluster.bootstrap_servers, Recorder()
    cluster.create_topic(topic, PARTITIONS)
    partitions = [Partition(topic, number) for number in range(PARTITIONS)]
    bankers = [
        Banker(recorder, servers, f"{topic}-banker{number}", topic, random.getrandbits(32))
        for number in range(BANKERS)
    ]
    auditor = Auditor(recorder, servers, partitions)
    for thread in (*bankers, auditor):
        thread.start()
    for _ in range(ends):
        threading.Event().wait(random.uniform(0.5, 2.0))  # at a random moment of the flow
        node = random.choice(list(cluster.brokers.values()))
        if random.random() < 0.5:
            node.kill()
            cluster.wait_for_brokers(set(cluster.brokers) - {node.number})
        else:
            node.stop()
        node.start()
        cluster.wait_in_sync(topic)
        cluster.wait_in_sync("__transaction_state")
    for thread in (*bankers, auditor):
        thread.finish()
    finals = [
        *read_to_the_end(servers, partitions, seconds=DEADLINE_SECONDS),
        *read_to_the_end(servers, partitions, isolation=Isolation.READ_COMMITTED, seconds=DEADLINE_SECONDS),
    ]
    assert_kept(recorder.history(finals, total=0))
    return bankers
