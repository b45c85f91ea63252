"""Exactly once into PostgreSQL: the program is killed again and again, and no row is missing or twice."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from penstock.client import Admin, NewTopic, Producer
from penstock.testing import Broker
from tests.examples.loading import EXAMPLES
from tests.peers.postgres import PostgreSQL

PROGRAM = EXAMPLES / "client" / "to_database.py"
SECONDS = 120.0
TOPIC = "payments"
KILLS = 3
KILLS_LONG = 50
PARTITIONS = 3


@pytest.fixture(scope="module")
def database() -> Iterator[PostgreSQL]:
    with PostgreSQL() as server:
        yield server


class Program:
    """Two of them share the partitions; one is killed at a time."""

    def __init__(self, servers: str, dsn: str) -> None:
        self._command = [sys.executable, str(PROGRAM), servers, dsn, TOPIC]
        self._process = self._start()

    def kill_and_start(self) -> None:
        self.kill()
        self._process = self._start()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(30)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(self._command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process


def rows(database: PostgreSQL) -> int:
    return int(database.ask("SELECT count(*) FROM payments")[0][0])


def wait_for_rows(database: PostgreSQL, count: int) -> None:
    deadline = time.monotonic() + SECONDS
    while rows(database) < count:
        assert time.monotonic() < deadline, f"{rows(database)} of {count} rows"
        time.sleep(0.05)


@pytest.mark.timeout(3600)
def test_no_row_is_missing_and_none_is_there_twice(database: PostgreSQL, long_form: bool) -> None:
    kills, each, seed = (KILLS_LONG if long_form else KILLS), 400, random.randrange(2**32)
    choose, sent = random.Random(seed), 0
    with Broker() as broker:
        servers = broker.bootstrap_servers
        with Admin({"bootstrap.servers": servers}) as admin:
            admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).all().result(30)
        programs = [Program(servers, database.dsn)] + ([Program(servers, database.dsn)] if long_form else [])
        with Producer({"bootstrap.servers": servers}) as producer:
            for _ in range(kills):
                for number in range(sent, sent + each):
                    payment = json.dumps({"id": number, "amount": number % 97}).encode()
                    producer.send(TOPIC, payment, str(number).encode())
                producer.flush()
                sent += each
                wait_for_rows(database, choose.randrange(sent - each, sent))  # the killed one stands anywhere
                choose.choice(programs).kill_and_start()
            wait_for_rows(database, sent)
        for program in programs:
            program.kill()
    counted = database.ask("SELECT count(*), count(DISTINCT id), count(DISTINCT topic_offset) FROM payments")
    assert counted == [(sent, sent, sent)], f"seed {seed}"
    amounts = database.ask("SELECT sum(amount) FROM payments")
    assert amounts == [(sum(number % 97 for number in range(sent)),)], f"seed {seed}"
    ends = database.ask("SELECT sum(next_offset) FROM offsets")
    assert ends == [(sent,)], f"seed {seed}"
