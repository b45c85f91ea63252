"""A6: a transactional copy is exactly once, whoever is ended at whatever moment: the job or the broker,
killed with -9 or asked to stop; with confluent-kafka and, in the long form, with the Java client."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.testing.history.clients import read_to_the_end
from penstock.testing.history.events import Isolation, Partition
from penstock.testing.process import BrokerProcess
from tests.faults.copy_job import PARTITIONS
from tests.peers.apache_kafka import Unavailable, jars

INPUT: Final = "input"
OUTPUT: Final = "output"
BATCH: Final = 750
LONG_RECORDS: Final = 100_000
SHORT_RECORDS: Final = 4_000
SHORT_BATCH: Final = 100
DEADLINE_SECONDS: Final = 600.0
SETTINGS: Final = {"transaction.state.log.num.partitions": "4", "offsets.topic.num.partitions": "4"}
ENDS: Final = tuple(itertools.product(("job", "broker"), ("hard", "clean")))


def confluent_job(servers: str, batch: int) -> list[str]:
    return [sys.executable, "-m", "tests.faults.copy_job", servers, INPUT, OUTPUT, str(batch)]


def java_job(servers: str, batch: int) -> list[str]:
    try:
        libs = jars()
    except Unavailable as reason:
        pytest.skip(str(reason))
    source = Path(__file__).with_name("CopyJob.java")
    return [
        *("java", "-XX:TieredStopAtLevel=1", "-cp", f"{libs}/*", str(source)),
        *(servers, INPUT, OUTPUT, str(batch)),
    ]


@pytest.mark.claim("A6")
@pytest.mark.timeout(3600)
def test_a_transactional_copy_is_exactly_once(tmp_path: Path, seed: int, long_form: bool) -> None:
    records, batch = (LONG_RECORDS, BATCH) if long_form else (SHORT_RECORDS, SHORT_BATCH)
    jobs = (confluent_job, java_job) if long_form else (confluent_job,)
    for job in jobs:
        random, pause = Random(seed), (1.0, 2.0) if job is java_job else (0.2, 0.8)
        with BrokerProcess(str(tmp_path / job.__name__), SETTINGS) as broker:
            fill(broker.bootstrap_servers, records)
            ended = harass(broker, job(broker.bootstrap_servers, batch), random, pause)
            check(broker.bootstrap_servers, records)
        if long_form:  # however fast the machine is
            assert len(ended) == len(ENDS), f"only {dict(ended)} was tried"
        print(f"{job.__name__}: {records} records, {batch} a transaction, ended: {dict(ended)}")


def fill(servers: str, records: int) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    topics = [NewTopic(name, PARTITIONS) for name in (INPUT, OUTPUT)]
    for made in admin.create_topics(topics).values():
        made.result(60)
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 20})
    for number in range(records):
        producer.produce(INPUT, b"%d" % number, partition=number % PARTITIONS)
        producer.poll(0)
    assert producer.flush(60) == 0


def harass(
    broker: BrokerProcess, command: list[str], random: Random, pause: tuple[float, float]
) -> Counter[str]:
    """Let the job run to its end, and end it or the broker again and again meanwhile."""
    ended: Counter[str] = Counter()
    ends = in_turns(random)
    deadline = time.monotonic() + DEADLINE_SECONDS
    job = subprocess.Popen(command)
    try:
        while True:
            try:
                code = job.wait(random.uniform(*pause))
            except subprocess.TimeoutExpired:
                code = None
            if code == 0:
                return ended
            assert time.monotonic() < deadline, "the copy did not come to its end"
            if code is None:
                victim, way = next(ends)
                ended[f"{victim} {way}"] += 1
                if victim == "broker":
                    (broker.kill if way == "hard" else broker.stop)()
                    broker.start()
                    continue
                job.send_signal(signal.SIGKILL if way == "hard" else signal.SIGTERM)
                job.wait(30)
            job = subprocess.Popen(command)  # it was ended, or gave up because the broker was
    finally:
        job.kill()
        job.wait(30)


def in_turns(random: Random) -> Iterator[tuple[str, str]]:
    """Every way to end either of them, in another order each time."""
    while True:
        yield from random.sample(ENDS, len(ENDS))


def check(servers: str, records: int) -> None:
    """Every input is in the output once, in the order of its partition."""
    places = [Partition(OUTPUT, index) for index in range(PARTITIONS)]
    finals = read_to_the_end(servers, places, isolation=Isolation.READ_COMMITTED, seconds=120)
    found = [[record.value for record in final.records] for final in finals]
    assert found == [
        [b"copy of %d" % number for number in range(index, records, PARTITIONS)]
        for index in range(PARTITIONS)
    ]
