"""PostgreSQL → topics → MariaDB as processes that can be killed, with a writer at its beginning."""

from __future__ import annotations

import json
import os
import signal
import threading
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from penstock.testing.broker import Broker
from tests.connectors.servers import MariaDb, Postgres, Server
from tests.connectors.worker import Worker, eventually
from tests.faults.pipeline_kills import Way
from tests.peers.topic_reader import read_topic

JSON = {"key.converter": "JsonConverter", "value.converter": "JsonConverter"}
AGAIN = {"penstock.restart.max": "1000", "penstock.restart.delay.ms": "300"}
PATIENCE_S = 300.0
FIRST_ROWS = 2000


class Writer(threading.Thread):
    """Changes both tables until it is told to end, whatever happens to the server meanwhile."""

    def __init__(self, server: Postgres, random: Random) -> None:
        super().__init__(daemon=True)
        self._server, self._random = server, random
        self._end = threading.Event()

    def run(self) -> None:
        while not self._end.wait(0.05):
            with suppress(Exception):  # the server may be gone: what was not committed is not there
                self._change()

    def _change(self) -> None:
        key, amount = self._random.randrange(200), self._random.randrange(1000)
        if self._random.random() < 0.2:
            self._server.run("DELETE FROM accounts WHERE id = %s", key)
        else:
            self._server.run(
                "INSERT INTO accounts VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET amount = "
                "excluded.amount",
                key,
                amount,
            )
        self._server.run("INSERT INTO events (note) SELECT md5(i::text) FROM generate_series(1, 5) i")

    def end(self) -> None:
        self._end.set()
        if self.is_alive():
            self.join(60)


class Chain:
    """Changes of `accounts` are upserted; rows of `events` are inserted, with the offsets in the same
    transaction. Two workers of one group: one drives, the other takes over."""

    def __init__(self, broker: Broker, directory: Path, random: Random) -> None:
        self._broker, self._random = broker, random
        self.source, self.target = Postgres(), MariaDb()
        made = (Worker(broker.bootstrap_servers, str(directory), group_id="chain") for _ in range(2))
        self.workers = list(made)
        self.writer = Writer(self.source, Random(random.random()))

    def start(self) -> None:
        self.source.start()
        self.target.start()
        self.source.run("CREATE TABLE accounts (id int PRIMARY KEY, amount int NOT NULL)")
        self.source.run("CREATE TABLE events (id bigserial PRIMARY KEY, note text NOT NULL)")
        rows = f"SELECT md5(i::text) FROM generate_series(1, {FIRST_ROWS}) i"
        self.source.run(f"INSERT INTO events (note) {rows}")
        for worker in self.workers:
            worker.start()
        for name, config in configs(self.source, self.target).items():
            self.workers[0].create(name, config)
        self.writer.start()

    def close(self) -> None:
        self.writer.end()
        for worker in self.workers:
            if worker.process is not None:
                worker.kill()
        self.source.close()
        self.target.close()

    # -- what it has done

    def arrived(self) -> int:
        with suppress(Exception):  # the server is on its way up, or the table is not there yet
            return int(self.target.run("SELECT count(*) FROM events")[0][0])
        return 0

    def goes_on(self) -> None:
        before = self.arrived()
        self.await_true(lambda: self.arrived() > before, f"more than {before} events")

    def equal(self, table: str) -> bool:
        return rows(self.source, table) == rows(self.target, table)

    def ids_in_topic(self) -> list[int]:
        """Of all events that were ever committed to the topic."""
        found = read_topic(self._broker.bootstrap_servers, "k.public.events")
        return [json.loads(each.value())["payload"]["after"]["id"] for each in found]

    def await_true(self, condition: Any, what: str) -> None:
        try:
            eventually(condition, what, PATIENCE_S)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self.told()}") from None

    def told(self) -> str:
        """States and the last lines of the logs, for a failure."""
        lines = []
        for number, worker in enumerate(self.workers):
            with suppress(OSError):
                for name in ("capture", "upsert", "insert"):
                    lines.append(json.dumps(worker.call("GET", f"/connectors/{name}/status")[1])[:3000])
            lines.append(f"worker {number}:\n" + "".join(worker.lines[-40:])[-4000:])
        return "\n".join(lines)

    # -- the ways to kill it

    def ways(self) -> dict[str, Way]:
        return {
            "worker": lambda: self._kill_worker(whole=True),
            "driver": lambda: self._kill_worker(whole=False),
            "jvm": lambda: self._kill_one(self._processes(b"SparkSubmit")),
            "executor": lambda: self._kill_one(self._processes(b"pyspark.daemon")),
            "source": lambda: _kill_server(self.source),
            "target": lambda: _kill_server(self.target),
        }

    def _driving(self) -> Worker:
        """The worker that runs the connectors, as far as is known."""
        for worker in self.workers:
            with suppress(OSError):
                status, told = worker.call("GET", "/connectors/insert/status")
                if status == 200:
                    driver = f"http://{told['connector']['worker_id']}"
                    return next((each for each in self.workers if each.url == driver), worker)
        return self.workers[0]

    def _kill_worker(self, *, whole: bool) -> bool:
        worker = self._driving()
        worker.kill() if whole else worker.kill_driver_only()
        worker.start()
        return True

    def _processes(self, word: bytes) -> list[int]:
        """Those of Spark, of the worker that drives."""
        process = self._driving().process
        assert process is not None
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                number = int(path.name)
                if word in (path / "cmdline").read_bytes() and os.getsid(number) == process.pid:
                    found.append(number)
        return found

    def _kill_one(self, processes: list[int]) -> bool:
        if not processes:
            return False
        with suppress(ProcessLookupError):
            os.kill(self._random.choice(sorted(processes)), signal.SIGKILL)
        return True


def _kill_server(server: Server) -> bool:
    server.kill()
    server.start()
    return True


def rows(server: Any, table: str) -> Any:
    with suppress(Exception):  # it is on its way up, or the table is not there yet
        return sorted(map(tuple, server.run(f"SELECT * FROM {table}")))
    return None


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
