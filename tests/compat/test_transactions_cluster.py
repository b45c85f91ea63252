"""Transactions on three nodes, without any fault: no transaction may fail.

Every producer writes to all partitions, which several brokers lead, and commits offsets of a group with its
records. The short form takes seconds and runs librdkafka; `--long` takes ten minutes for each of three
clients (`make faults ONLY=A8`).
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, TopicPartition

from penstock.testing.cluster import Cluster
from tests.compat.test_groups_other_languages import go_program
from tests.peers.java_programs import QUIET, JavaPrograms

HERE: Final = Path(__file__).parent
TOPIC: Final = "accounts"
PARTITIONS: Final = 6
PRODUCERS: Final = 4
SHORT_SECONDS: Final = 8
LONG_SECONDS: Final = 600
SPARE_SECONDS: Final = 60

pytestmark = [pytest.mark.claim("A8"), pytest.mark.timeout(LONG_SECONDS + 4 * SPARE_SECONDS)]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path) as running:
        running.create_topic(TOPIC, PARTITIONS)
        yield running


@pytest.fixture
def seconds(long_form: bool) -> int:
    return LONG_SECONDS if long_form else SHORT_SECONDS


def test_no_transaction_of_librdkafka_fails(cluster: Cluster, seconds: int) -> None:
    program = [sys.executable, str(HERE / "steady_transactions.py")]
    judge("librdkafka", cluster, _run([*program, *_arguments(cluster, seconds)], seconds))


@pytest.mark.long
def test_no_transaction_of_franz_go_fails(cluster: Cluster, seconds: int) -> None:
    program = go_program("franz_transactions")
    judge("franz-go", cluster, _run([*program, *_arguments(cluster, seconds)], seconds))


@pytest.mark.long
def test_no_transaction_of_the_java_client_fails(
    cluster: Cluster, seconds: int, java_programs: JavaPrograms
) -> None:
    program = ["java", *QUIET, "-cp", java_programs.class_path, "SteadyTransactions"]
    judge("Java", cluster, _run([*program, *_arguments(cluster, seconds)], seconds))


def judge(client: str, cluster: Cluster, said: str) -> None:
    """Nothing failed, and what is read as committed is what was committed."""
    print(f"{client}: {said.strip()}")
    committed, aborted, failed = (int(number) for number in re.findall(r"\d+", said.splitlines()[-1]))
    assert failed == 0, said
    assert committed > PRODUCERS
    assert aborted > 0
    assert _committed_records(cluster) == committed * PARTITIONS


def _arguments(cluster: Cluster, seconds: int) -> list[str]:
    return [cluster.bootstrap_servers, TOPIC, str(PARTITIONS), str(PRODUCERS), str(seconds)]


def _run(command: list[str], seconds: int) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + SPARE_SECONDS)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def _committed_records(cluster: Cluster) -> int:
    """How many records a consumer of committed ones reads."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "judge",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)])
    records, ended = 0, set()
    while len(ended) < PARTITIONS:
        message = consumer.poll(SPARE_SECONDS)
        assert message is not None, "the log does not end"
        if message.error() is None:
            records += 1
        else:
            ended.add(message.partition())
    consumer.close()
    return records
