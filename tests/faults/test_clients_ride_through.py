"""Clients with their default settings ride through failovers: a transactional copy job with its group, while
brokers are killed and restarted one after the other, with confluent-kafka and with the Java client; and
groups of both protocols."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from penstock.testing.cluster import Cluster, Software
from tests.compat import group_member
from tests.compat.churn import PARTITIONS as GROUP_PARTITIONS
from tests.compat.churn import TOPIC, Command, Crowd, Load, missing, until
from tests.compat.test_groups_java import java_member
from tests.faults.clusters import QUICK
from tests.faults.clusters import software as software
from tests.faults.test_copy_job import OUTPUT, check, confluent_job, fill, java_job

LONG_RECORDS: Final = 40_000
SHORT_RECORDS: Final = 3_000
BATCH: Final = 100
DEADLINE_SECONDS: Final = 600.0
FEWEST_ENDS: Final = 2
LONG_SECONDS: Final = 300.0


@pytest.mark.claim("A6")
@pytest.mark.parametrize("job", [confluent_job, pytest.param(java_job, marks=pytest.mark.long)])
@pytest.mark.timeout(1200)
def test_a_transactional_copy_rides_through_every_failover(
    tmp_path: Path,
    software: Software,
    job: Callable[[str, int], list[str]],
    seed: int,
    long_form: bool,
) -> None:
    records = LONG_RECORDS if long_form else SHORT_RECORDS
    with Cluster(tmp_path, software, settings=QUICK) as cluster:
        fill(cluster.bootstrap_servers, records)
        ended, lives = harass(cluster, job(cluster.bootstrap_servers, BATCH), Random(seed))
        check(cluster.bootstrap_servers, records)
    assert lives == 1, f"the job had to be started {lives} times"
    print(f"{software.name}, {job.__name__}: {records} records, {ended} brokers ended, and the job never")


def harass(cluster: Cluster, command: list[str], random: Random) -> tuple[int, int]:
    """Let the job run to its end while brokers are ended in turn, hard and cleanly; gives how many, and how
    often the job had to be started: once, when it rode through everything."""
    deadline, lives = time.monotonic() + DEADLINE_SECONDS, 1
    job = subprocess.Popen(command)
    try:
        for ended in itertools.count():
            try:
                code: int | None = job.wait(random.uniform(0.5, 2.0))
            except subprocess.TimeoutExpired:
                code = None
            if code == 0 and ended >= FEWEST_ENDS:
                return ended, lives
            assert time.monotonic() < deadline, "the copy did not come to its end"
            if code is not None:
                lives += code != 0
                job = subprocess.Popen(command)
            end_one(cluster, random, (OUTPUT, "__consumer_offsets", "__transaction_state"))
        raise AssertionError("unreachable")
    finally:
        job.kill()
        job.wait(30)


def end_one(cluster: Cluster, random: Random, topics: tuple[str, ...]) -> None:
    """Whoever leads the topics is among the three; all are in sync again when it returns."""
    node = random.choice(list(cluster.brokers.values()))
    if random.random() < 0.5:
        node.kill()
    else:
        node.stop()
    node.start()
    for topic in topics:
        cluster.wait_in_sync(topic)


GROUPS: Final = {"classic": ("group.protocol=classic",), "consumer": ("group.protocol=consumer",)}
JAVA_DEFAULTS: Final = (
    "default.api.timeout.ms=60000",
    "reconnect.backoff.max.ms=1000",
    "metadata.max.age.ms=300000",
)
"""What GroupMember sets otherwise for tests of one broker."""


def confluent_members(_: pytest.FixtureRequest) -> Command:
    script = Path(group_member.__file__)

    def member(servers: str, topic: str, group: str) -> list[str]:
        return [sys.executable, str(script), "confluent-kafka", servers, topic, group, *GROUPS[group]]

    return member


def java_members(request: pytest.FixtureRequest) -> Command:
    command = java_member(request.getfixturevalue("java_programs"))

    def member(servers: str, topic: str, group: str) -> list[str]:
        return [*command, servers, topic, group, *JAVA_DEFAULTS, *GROUPS[group]]

    return member


@pytest.mark.claim("A10")
@pytest.mark.parametrize("members", [confluent_members, pytest.param(java_members, marks=pytest.mark.long)])
@pytest.mark.timeout(900)
def test_groups_ride_through_every_failover(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    software: Software,
    members: Callable[[pytest.FixtureRequest], Command],
    seed: int,
    long_form: bool,
) -> None:
    """Three members of each group; whoever coordinates a group is among the brokers that end."""
    random, ended, member = Random(seed), 0, members(request)
    with Cluster(tmp_path, software, settings=QUICK) as cluster:
        cluster.create_topic(TOPIC, GROUP_PARTITIONS)
        crowd = Crowd(cluster.bootstrap_servers, list(GROUPS), member)
        load = Load(cluster.bootstrap_servers)
        try:
            until("every group is there", crowd.is_at_work)
            load.start()
            end = time.monotonic() + (LONG_SECONDS if long_form else 0)
            while ended < FEWEST_ENDS or time.monotonic() < end:
                end_one(cluster, random, (TOPIC, "__consumer_offsets"))
                ended += 1
            load.finish()
            for group in GROUPS:
                until(f"{group} has read everything", lambda name=group: not missing(load, crowd.seen(name)))  # type: ignore[misc]
                until(
                    f"{group} has committed everything", lambda name=group: committed_all(load, cluster, name)
                )  # type: ignore[misc]
        finally:
            load.stop()
            crowd.end()
    for group in GROUPS:
        assert [record for record in crowd.records(group) if load.sent[record[:2]] != record[2]] == []
    sent = len(load.sent)
    print(f"{software.name}, {members.__name__}: {sent} records, {list(GROUPS)}, {ended} brokers ended")


def committed_all(load: Load, cluster: Cluster, group: str) -> bool:
    ends: dict[int, int] = {}
    for partition, offset in list(load.sent):
        ends[partition] = max(ends.get(partition, 0), offset + 1)
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": group})
    try:
        found = consumer.committed([TopicPartition(TOPIC, number) for number in ends], timeout=10)
    except KafkaException:
        return False
    finally:
        consumer.close()
    return {place.partition: place.offset for place in found} == ends
