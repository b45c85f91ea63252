"""Joins, windows and aggregates while server, Spark's driver, its tasks and the broker are killed at random:
every result is there once, and every table is right.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock.client.errors import ClientError
from penstock.client.librdkafka import Connection
from penstock.client.sending import NewRecord, Sender
from penstock.testing.process import BrokerProcess
from tests.faults.pipeline_kills import Deck
from tests.faults.pipeline_rig import Rig
from tests.sqlserver.servers import Server, command_of, kill, launch
from tests.sqlserver.test_killed import committed

KILLS, ROUND, USERS, REGIONS = 30, 60, 7, 3
STEP_MS, WITHIN_MS, WINDOW_MS = 50, 1000, 10_000
PATIENCE_S = 400.0
STATEMENTS = """
CREATE TABLE users (name STRING PRIMARY KEY, region STRING)
  WITH (kafka_topic='users', value_format='JSON', partitions=2);
CREATE STREAM views (name STRING KEY, number INT)
  WITH (kafka_topic='views', value_format='JSON', partitions=2);
CREATE STREAM clicks (name STRING KEY, number INT)
  WITH (kafka_topic='clicks', value_format='JSON', partitions=2);
CREATE STREAM joined AS SELECT v.name, v.number AS number, u.region AS region
  FROM views v LEFT JOIN users u ON v.name = u.name EMIT CHANGES;
CREATE STREAM matched AS SELECT v.name, v.number AS viewed, c.number AS clicked
  FROM views v JOIN clicks c WITHIN 1 SECONDS GRACE PERIOD 1 HOURS ON v.name = c.name EMIT CHANGES;
CREATE TABLE windowed AS SELECT name, COUNT(*) AS n, SUM(number) AS total FROM views
  WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 1 HOURS) GROUP BY name EMIT CHANGES;
CREATE TABLE regions AS SELECT region, COUNT(*) AS n, SUM(number) AS total FROM joined
  GROUP BY region EMIT CHANGES;
"""


class Run:
    """One broker, one server at a time, and what was sent to them."""

    def __init__(self, broker: BrokerProcess, rig: Rig, state: Path, chooser: Random) -> None:
        self.broker, self.rig, self._state, self._chooser = broker, rig, state, chooser
        self.server = self._started()
        self.began_ms = time.time_ns() // 1_000_000 // WINDOW_MS * WINDOW_MS
        self.sent = 0

    def _started(self) -> Server:
        settings = {
            "ksql_streams_state_dir": str(self._state),
            "ksql_streams_session_timeout_ms": "6000",
            "ksql_query_retry_backoff_initial_ms": "500",
        }
        return launch(command_of(self.broker.bootstrap_servers, (), settings), self.rig.environment())

    def ways(self) -> dict[str, Callable[[], bool]]:
        return {
            "server": self._kill_server,
            "driver": lambda: self.rig.kill_one(self.rig.find("SparkSubmit"), self._chooser),
            "task": lambda: self.rig.kill_one(self.rig.tasks(), self._chooser),
            "broker": self._kill_broker,
        }

    def _kill_server(self) -> bool:
        driver = self.rig.find("SparkSubmit")
        kill(self.server)
        for pid in driver:  # it would end by itself when it sees that its parent is gone
            os.kill(pid, signal.SIGKILL)
        self.server = self._started()
        return True

    def _kill_broker(self) -> bool:
        self.broker.kill()
        self.broker.start()
        return True

    def send(self, count: int) -> None:
        """As many views and as many clicks, in the order of their times."""
        numbers = range(self.sent, self.sent + count)
        with Sender(Connection(self.broker.bootstrap_servers, 60)) as sender:
            for number in numbers:
                for topic in ("views", "clicks"):
                    value = json.dumps({"number": number}).encode()
                    at = self.began_ms + number * STEP_MS
                    sender.send(topic, NewRecord(value, user(number, topic).encode(), timestamp_ms=at))
        self.sent += count

    def rows(self, topic: str) -> list[Any]:
        return committed(self.broker.bootstrap_servers, topic)

    def wait_for(self, topic: str, least: int) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while self._count(topic) < least:
            assert time.monotonic() < deadline, f"{self._count(topic)} of {least} in {topic}"
            time.sleep(0.5)

    def _count(self, topic: str) -> int:
        try:
            return len(self.rows(topic))
        except ClientError:  # the broker has just been started again
            return 0


def user(number: int, topic: str) -> str:
    return f"u{(number if topic == 'views' else number * 3) % USERS}"


def region(name: str) -> str | None:
    return f"r{int(name[1:]) % REGIONS}" if name != "u0" else None  # a user that is in no table


def matches(count: int) -> Counter[tuple[int, int]]:
    far = WITHIN_MS // STEP_MS
    return Counter(
        (view, click)
        for view in range(count)
        for click in range(max(0, view - far), min(count, view + far + 1))
        if user(view, "views") == user(click, "clicks")
    )


@pytest.fixture
def run(tmp_path: Path, seed: int) -> Iterator[Run]:
    rig = Rig(tmp_path / "log")
    settings = {"group.initial.rebalance.delay.ms": "0"}
    with BrokerProcess(str(tmp_path / "data"), settings=settings) as broker:
        made = Run(broker, rig, tmp_path / "state", Random(seed))
        yield made
        made.server.client.close()
        made.server.process.kill()
        made.server.process.wait(20)
        rig.close()


@pytest.mark.long
@pytest.mark.timeout(5400)
def test_joins_windows_and_aggregates_are_exact_after_thirty_kills(run: Run, seed: int) -> None:
    run.server.ksql(STATEMENTS, auto_offset_reset="earliest")
    with Sender(Connection(run.broker.bootstrap_servers, 60)) as sender:
        for name in (f"u{number}" for number in range(1, USERS)):
            row = NewRecord(json.dumps({"region": region(name)}).encode(), name.encode(), timestamp_ms=1000)
            sender.send("users", row)
    chooser = Random(seed)
    deck = Deck(run.ways(), chooser)
    while sum(deck.kills.values()) < KILLS:
        run.send(ROUND)
        run.wait_for("JOINED", run.sent - ROUND)
        time.sleep(chooser.uniform(0, 2.0))  # any point of a batch
        deck.kill()
        print(sum(deck.kills.values()), dict(deck.kills), flush=True)
    run.wait_for("JOINED", run.sent)
    run.wait_for("MATCHED", sum(matches(run.sent).values()))
    run.server.wait_for_rows("SELECT n FROM regions;", lambda found: _sum(found) == _known(run.sent), 300)
    run.server.wait_for_rows("SELECT n FROM windowed;", lambda found: _sum(found) == run.sent, 300)
    _judge(run)


def _sum(rows: list[Any]) -> int:
    return sum(row[0] for row in rows)


def _known(count: int) -> int:
    """Views of users that have a region: a group of none is no group."""
    return sum(region(user(number, "views")) is not None for number in range(count))


def _judge(run: Run) -> None:
    numbers = range(run.sent)
    joined = [json.loads(each.value) for each in run.rows("JOINED")]
    assert Counter((row["NUMBER"], row["REGION"]) for row in joined) == Counter(
        (number, region(user(number, "views"))) for number in numbers
    )
    matched = [json.loads(each.value) for each in run.rows("MATCHED")]
    assert Counter((row["VIEWED"], row["CLICKED"]) for row in matched) == matches(run.sent)
    totals: Counter[tuple[str, int]] = Counter()
    regions: Counter[str] = Counter()
    for number in numbers:
        name = user(number, "views")
        start = (run.began_ms + number * STEP_MS) // WINDOW_MS * WINDOW_MS
        totals[name, start] += number
        regions[region(name) or ""] += number
    found = run.server.rows("SELECT name, windowstart, total FROM windowed;")
    assert {(name, start): total for name, start, total in found} == dict(totals)
    del regions[""]
    assert dict(run.server.rows("SELECT region, total FROM regions;")) == dict(regions)
