"""A1, A5 and A6 on a cluster that is TLS and SCRAM throughout: leaders killed, paused and cut off, a
transactional copy; and meanwhile certificates are renewed and access control entries change, without an error
to those that may."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import ResourceType

from penstock.testing.cluster import Network
from penstock.testing.history.availability import longest_gaps
from penstock.testing.history.clients import read_to_the_end
from penstock.testing.history.events import Isolation, Partition
from tests.faults.clusters import FENCED_SECONDS, PARTITIONS, RATE, SHORT_RATE, Round
from tests.faults.copy_job import PARTITIONS as COPIED_PARTITIONS
from tests.faults.secured_cluster import SecuredCluster, entry

LONG_SECONDS: Final = 300.0
FAULTS: Final = ("kill", "pause", "cut off")
FAULTS_OF_A_ROUND: Final = 3
SHORT_RECORDS, LONG_RECORDS = 3_000, 100_000
SHORT_BATCH, LONG_BATCH = 100, 750
COPY_SECONDS: Final = 600.0
RENEW_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Rig:
    cluster: SecuredCluster
    network: Network | None
    """None where there can be none: then leaders are killed and paused, and not cut off."""


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with ExitStack() as stack:
        network = stack.enter_context(Network()) if Network.why_not() is None else None
        cluster = stack.enter_context(SecuredCluster(tmp_path_factory.mktemp("secured"), network))
        cluster.admit()
        yield Rig(cluster, network)


class Changes(threading.Thread):
    """Renews the certificates of all nodes, and changes entries of others, again and again."""

    def __init__(self, cluster: SecuredCluster) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._stopping = threading.Event()
        self.renewals = 0
        self.entries = 0

    def run(self) -> None:
        while not self._stopping.wait(RENEW_SECONDS):
            self._cluster.rotate(self.renewals)
            self.renewals += 1
            others = [
                entry(f"other-{self.renewals}-{number}", ResourceType.TOPIC, "*", deny=number % 2 == 0)
                for number in range(20)
            ]
            try:
                self._cluster.grant(*others)
                self._cluster.revoke(*others[:10])
            except KafkaException:
                continue  # a broker was away; what counts is what the flow sees
            self.entries += 30

    def finish(self) -> None:
        self._stopping.set()
        self.join(120)


@pytest.mark.claim("A1")
@pytest.mark.timeout(1800)
def test_faults_new_certificates_and_new_entries_lose_nothing(rig: Rig, seed: int, long_form: bool) -> None:
    random, cluster, gaps, acked, names = Random(seed), rig.cluster, list[float](), 0, Counter[str]()
    end = time.monotonic() + (LONG_SECONDS if long_form else 0)
    changes = Changes(cluster)
    changes.start()
    for number in range(10_000):
        rate = RATE if long_form else SHORT_RATE
        with Round(cluster, f"hurt-{number}", rate=rate, security=cluster.client()) as played:
            chosen = random.choices(FAULTS, k=FAULTS_OF_A_ROUND) if long_form else list(FAULTS)
            for fault in chosen:
                names[hurt(rig, played, fault, random)] += 1
        assert played.history is not None
        gaps += longest_gaps(played.history, played.moments)
        acked += played.flow.acked
        if time.monotonic() >= end:
            break
    changes.finish()
    assert changes.renewals > 0
    assert changes.entries > 0
    refused(cluster)
    print(
        f"{dict(names)}, {acked} records acknowledged, without acknowledgement {max(gaps):.1f} s at most; "
        f"{changes.renewals} new certificates, {changes.entries} entries made and deleted"
    )


def hurt(rig: Rig, played: Round, fault: str, random: Random) -> str:
    cluster = rig.cluster
    leader = cluster.brokers[cluster.leader_of(played.topic, random.randrange(PARTITIONS))]
    if fault == "cut off" and rig.network is None:
        fault = "kill"
    played.fault()
    if fault == "kill":
        leader.kill()
        cluster.wait_for_brokers(set(cluster.brokers) - {leader.number})
        played.wait_served()
        leader.start()
    else:
        if fault == "pause":
            leader.pause()
        else:
            assert rig.network is not None
            rig.network.isolate(leader.number)
        threading.Event().wait(FENCED_SECONDS)
        if fault == "pause":
            leader.resume()
        else:
            assert rig.network is not None
            rig.network.heal()
        played.wait_served()
    cluster.wait_in_sync(played.topic)
    return fault


def refused(cluster: SecuredCluster) -> None:
    """Meanwhile nobody else came in: mallory, who has no entry, may not write."""
    codes: list[int] = []
    settings = {**cluster.client("mallory"), "bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}
    producer = Producer({**settings, "message.timeout.ms": 20_000})
    producer.produce("hurt-0", b"x", on_delivery=lambda error, _: codes.append(error.code() if error else 0))
    assert producer.flush(30) == 0
    assert codes in ([KafkaError.TOPIC_AUTHORIZATION_FAILED], [KafkaError._MSG_TIMED_OUT]), codes


@pytest.mark.claim("A6")
@pytest.mark.timeout(1800)
def test_a_transactional_copy_over_tls_is_exactly_once(
    rig: Rig, tmp_path: Path, seed: int, long_form: bool
) -> None:
    cluster, random = rig.cluster, Random(seed)
    records, batch = (LONG_RECORDS, LONG_BATCH) if long_form else (SHORT_RECORDS, SHORT_BATCH)
    for topic in ("input", "output"):
        cluster.create_topic(topic, COPIED_PARTITIONS)
    fill(cluster, records)
    security = tmp_path / "security.json"
    security.write_text(json.dumps(cluster.client()))
    module = [sys.executable, "-m", "tests.faults.copy_job"]
    command = [*module, cluster.bootstrap_servers, "input", "output", str(batch), str(security)]
    ended = harass(cluster, command, random, 4 if long_form else 1)
    places = [Partition("output", index) for index in range(COPIED_PARTITIONS)]
    finals = read_to_the_end(
        cluster.bootstrap_servers,
        places,
        isolation=Isolation.READ_COMMITTED,
        seconds=120,
        config=cluster.client(),
    )
    assert [[record.value for record in final.records] for final in finals] == [
        [b"copy of %d" % number for number in range(index, records, COPIED_PARTITIONS)]
        for index in range(COPIED_PARTITIONS)
    ]
    print(f"{records} records, {batch} a transaction, ended: {dict(ended)}")


def fill(cluster: SecuredCluster, records: int) -> None:
    producer = Producer({**cluster.client(), "bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 20})
    for number in range(records):
        producer.produce("input", b"%d" % number, partition=number % COPIED_PARTITIONS)
        producer.poll(0)
    assert producer.flush(60) == 0


def harass(cluster: SecuredCluster, command: list[str], random: Random, times: int) -> Counter[str]:
    """Let the job run to its end; meanwhile end it, and leaders of its output, a number of times each."""
    ends = [("broker", "hard"), ("job", "hard"), ("broker", "clean"), ("job", "clean")] * times
    ended: Counter[str] = Counter()
    deadline = time.monotonic() + COPY_SECONDS
    job = subprocess.Popen(command)
    try:
        while True:
            try:
                code = job.wait(random.uniform(0.3, 1.0) if ends else 60)
            except subprocess.TimeoutExpired:
                code = None
            if code == 0:
                return ended
            assert time.monotonic() < deadline, "the copy did not come to its end"
            if code is None and ends:
                victim, way = ends.pop(0)
                ended[f"{victim} {way}"] += 1
                if victim == "broker":
                    node = cluster.brokers[cluster.leader_of("output", random.randrange(COPIED_PARTITIONS))]
                    (node.kill if way == "hard" else node.stop)()
                    node.start()
                    cluster.wait_for_brokers(cluster.brokers)
                    continue
                job.send_signal(signal.SIGKILL if way == "hard" else signal.SIGTERM)
                job.wait(30)
            if job.poll() is not None:  # it was ended, or gave up because a broker was
                job = subprocess.Popen(command)
    finally:
        job.kill()
        job.wait(30)
