"""PostgreSQL to MariaDB through topics, while workers, Spark's Python processes and both databases are
killed.

Changes of one table are upserted; rows of the other are inserted, with the offsets in the same transaction.
At the end both tables are to be equal to those they came from, and no row may have been inserted twice.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock.testing.broker import Broker
from tests.connectors.servers import MariaDb, Postgres
from tests.connectors.worker import Worker, eventually

JSON = {"key.converter": "JsonConverter", "value.converter": "JsonConverter"}
AGAIN = {"penstock.restart.max": "1000", "penstock.restart.delay.ms": "300"}
SEED = 20
KILLS = 30


class Writer(threading.Thread):
    """Changes both tables until it is told to end, whatever happens to the server meanwhile."""

    def __init__(self, server: Postgres, random: Random) -> None:
        super().__init__(daemon=True)
        self._server, self._random = server, random
        self._end = threading.Event()

    def run(self) -> None:
        while not self._end.is_set():
            key, amount = self._random.randrange(200), self._random.randrange(1000)
            with suppress(Exception):  # the server may be gone: what was not committed is not there
                if self._random.random() < 0.2:
                    self._server.run("DELETE FROM accounts WHERE id = %s", key)
                else:
                    self._server.run(
                        "INSERT INTO accounts VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET amount = "
                        "excluded.amount",
                        key,
                        amount,
                    )
                self._server.run(
                    "INSERT INTO events (note) SELECT md5(i::text) FROM generate_series(1, 20) i"
                )
            self._end.wait(0.02)

    def end(self) -> None:
        self._end.set()
        self.join(60)


@pytest.fixture
def servers() -> Iterator[tuple[Postgres, MariaDb]]:
    source = Postgres()
    target = MariaDb()
    yield source.start(), target.start()
    source.close()
    target.close()


def configs(source: Postgres, target: MariaDb) -> dict[str, dict[str, str]]:
    capture = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector", "database.hostname":
            "127.0.0.1",
        "database.port": str(source.port), "database.user": "postgres", "database.dbname": "postgres",
        "topic.prefix": "k", "table.include.list": "public.*",
    }  # fmt: skip
    sink = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector", "connection.url": target.url,
        "auto.create": "true", "transforms": "after", "transforms.after.type": "ExtractField$Value",
        "transforms.after.field": "after", "max.retries": "50", "retry.backoff.ms": "300",
        "connection.backoff.ms": "300",
    }  # fmt: skip
    upsert = {
        "topics": "k.public.accounts", "table.name.format": "accounts", "insert.mode": "upsert",
        "pk.mode": "record_key", "pk.fields": "id", "delete.enabled": "true",
    }  # fmt: skip
    insert = {"topics": "k.public.events", "table.name.format": "events"}
    made = {"capture": capture, "upsert": sink | upsert, "insert": sink | insert}
    return {name: config | JSON | AGAIN for name, config in made.items()}


def python_processes(worker: Worker) -> list[int]:
    """Spark's Python processes of this worker."""
    assert worker.process is not None
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (
                b"pyspark" in (path / "cmdline").read_bytes()
                and os.getsid(int(path.name)) == worker.process.pid
            ):
                found.append(int(path.name))
    return found


def kill(what: str, worker: Worker, source: Postgres, target: MariaDb, random: Random) -> None:
    if what == "source":
        source.kill()
        source.start()
    elif what == "target":
        target.kill()
        target.start()
    elif what == "executor":
        if processes := python_processes(worker):
            with suppress(ProcessLookupError):
                os.kill(random.choice(processes), signal.SIGKILL)
    else:
        worker.kill() if what == "worker" else worker.kill_driver_only()
        worker.start()


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_nothing_is_lost_or_written_twice(
    broker: Broker, servers: tuple[Postgres, MariaDb], tmp_path: Path
) -> None:
    source, target = servers
    random = Random(SEED)
    source.run("CREATE TABLE accounts (id int PRIMARY KEY, amount int NOT NULL)")
    source.run("CREATE TABLE events (id bigserial PRIMARY KEY, note text NOT NULL)")
    source.run("INSERT INTO events (note) SELECT md5(i::text) FROM generate_series(1, 5000) i")
    worker = Worker(broker.bootstrap_servers, str(tmp_path), group_id="kills").start()
    writer = Writer(source, Random(SEED + 1))

    def rows(server: Any, table: str) -> Any:
        with suppress(Exception):  # it is on its way up, or the table is not there yet
            return sorted(map(tuple, server.run(f"SELECT * FROM {table}")))
        return None

    try:
        for name, config in configs(source, target).items():
            worker.create(name, config)
        writer.start()
        kinds = ["worker", "source", "target", "executor", "driver"]
        for number in range(KILLS):
            before = len(rows(target, "events") or [])
            eventually(lambda b=before: len(rows(target, "events") or []) > b, "it goes on", 300)
            writer._end.wait(random.random() * 2)
            what = kinds[number] if number < len(kinds) else random.choice(kinds)
            kill(what, worker, source, target, random)
        writer.end()
        for table in ("events", "accounts"):
            eventually(lambda t=table: rows(source, t) == rows(target, t), f"{table} is equal", 300)
        ids = [number for number, _ in rows(target, "events")]
        assert len(ids) == len(set(ids))
    finally:
        writer.end()
        worker.stop()
