"""Connect with databases and files: rows of PostgreSQL into a topic, the topic into Parquet and into a table,
and change capture with the time from a commit to the topic.

One worker, one task for each connector, JSON with its schema, everything exactly once. The time runs from the
request that starts a connector until its last row has arrived, with Spark running by then. Capture reads a
backlog: it is paused while the rows are written.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, TopicPartition

from benchmarks.bench import Bench
from benchmarks.processes import family_cpu_seconds
from benchmarks.results import Metric, Sample, Table
from benchmarks.sections.connect_reading import await_last
from benchmarks.systems import System
from tests.connectors.servers import Postgres
from tests.connectors.worker import Worker, eventually

TOTAL: Final = 500_000
QUICK_TOTAL: Final = 200_000
PROBES: Final = 1000
QUICK_PROBES: Final = 200
PROBE_INTERVAL_S: Final = 0.02
PATIENCE_S: Final = 900.0
METRICS: Final = (Metric("k rows/s", 1), Metric("CPU s per M rows", 2))
LATENCIES: Final = (Metric("p50 ms", 0), Metric("p99 ms", 0))
_JDBC: Final = "io.confluent.connect.jdbc.Jdbc{}Connector"
_JSON: Final = {"key.converter": "JsonConverter", "value.converter": "JsonConverter"}
_COLUMNS: Final = (
    "id bigserial PRIMARY KEY, name text NOT NULL, amount int, at timestamp, price numeric(10,2)"
)
_ROWS: Final = """
    INSERT INTO {} (name, amount, at, price)
    SELECT md5(i::text), i, timestamp '2026-01-01' + i * interval '1 second', i % 100 + 0.5
    FROM generate_series(1, {}) i"""


class Engine(NamedTuple):
    worker: Worker
    name: str = "Penstock Connect on Spark"


def run(bench: Bench, system: System, worker: Worker, folder: Path) -> Iterator[Table]:
    total = QUICK_TOTAL if bench.effort.quick else TOTAL
    with ExitStack() as stack:
        server = Postgres()
        stack.callback(server.close)
        server.start()
        cases = _Cases(system, server, worker, folder, total)
        stack.callback(cases.close)
        table = Table(f"Connect: {total:,} rows of five columns, exactly once", METRICS)
        steps: Mapping[str, Callable[[], float]] = {
            "PostgreSQL → topic (JDBC)": cases.from_table,
            "topic → Parquet": cases.to_parquet,
            "topic → PostgreSQL (JDBC)": cases.to_table,
            "changes of PostgreSQL → topic": cases.from_changes,
        }
        for case, step in steps.items():
            measure = partial(_spent, worker, total, step)
            table.rows.append(bench.alternate(case, [Engine(worker)], measure, rounds=1))
        yield table
        late = Table("Connect: from a commit in PostgreSQL to the topic, 50 commits a second", LATENCIES)
        probes = QUICK_PROBES if bench.effort.quick else PROBES
        late.rows.append(
            bench.alternate("change capture", [Engine(worker)], lambda _: cases.latency(probes), rounds=1)
        )
        yield late


def _spent(worker: Worker, total: int, step: Callable[[], float], _engine: Engine) -> Sample:
    assert worker.process is not None
    spent = family_cpu_seconds(worker.process.pid, 0)
    seconds = step()
    spent = family_cpu_seconds(worker.process.pid, 0) - spent
    return {"k rows/s": total / seconds / 1e3, "CPU s per M rows": spent / total * 1e6}


class _Cases:
    """Each step uses what the one before has left."""

    def __init__(self, system: System, server: Postgres, worker: Worker, folder: Path, total: int) -> None:
        self._system, self._server, self._worker = system, server, worker
        self._folder, self._total = folder, total
        self._database = {"connection.url": f"{server.url}?user=postgres", "batch.max.rows": "5000"}

    def close(self) -> None:
        for name in ("from-table", "to-parquet", "to-table", "changes"):
            self._worker.call("DELETE", f"/connectors/{name}")

    def from_table(self) -> float:
        self._server.run(f"CREATE TABLE bench ({_COLUMNS})")
        self._server.run(_ROWS.format("bench", self._total))
        config = {"connector.class": _JDBC.format("Source"), "mode": "incrementing",
                  "table.whitelist": "bench", "incrementing.column.name": "id",
                  "topic.prefix": "jdbc-", **self._database}  # fmt: skip
        began = time.monotonic()
        self._worker.create("from-table", {**config, **_JSON})
        return self._all_in("jdbc-bench", self._total, self._total) - began

    def to_parquet(self) -> float:
        config = {"connector.class": "io.confluent.connect.s3.S3SinkConnector", "topics": "jdbc-bench",
                  "store.url": f"file://{self._folder}/parquet", "flush.size": "100000",
                  "format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat"}  # fmt: skip
        return self._timed("to-parquet", config, lambda: self._consumed("to-parquet"))

    def to_table(self) -> float:
        url = {"connection.url": self._database["connection.url"], "table.name.format": "copied"}
        config = {
            "connector.class": _JDBC.format("Sink"),
            "topics": "jdbc-bench",
            "auto.create": "true",
            **url,
        }
        return self._timed("to-table", config, lambda: self._consumed("to-table"))

    def from_changes(self) -> float:
        self._server.run(f"CREATE TABLE changes ({_COLUMNS})")
        self._server.run("INSERT INTO changes (name) VALUES ('first')")
        config = {"connector.class": "io.debezium.connector.postgresql.PostgresConnector",
                  "database.hostname": "127.0.0.1", "database.port": str(self._server.port),
                  "database.user": "postgres", "database.dbname": "postgres", "topic.prefix": "pg",
                  "table.include.list": "public.changes", "max.batch.size": "5000"}  # fmt: skip
        self._worker.create("changes", {**config, **_JSON})
        self._all_in("pg.public.changes", 1, 1)
        self._worker.call("PUT", "/connectors/changes/pause")
        self._worker.await_state("changes", "PAUSED")
        for _ in range(self._total // 1000):
            self._server.run(_ROWS.format("changes", 1000))
        began = time.monotonic()
        self._worker.call("PUT", "/connectors/changes/resume")
        return self._all_in("pg.public.changes", self._total + 1, self._total + 1) - began

    def latency(self, probes: int) -> Sample:
        """A row is committed every 20 ms; a row has arrived when a reader of committed records has it."""
        self._server.run("INSERT INTO changes (name) VALUES ('before')")
        sent: dict[bytes, float] = {}
        seen: dict[bytes, float] = {}
        reader = threading.Thread(target=self._watch, args=(probes, seen), daemon=True)
        reader.start()
        eventually(lambda: b"ready" in seen, "the reader is at the end", 60)
        for number in range(probes):
            name = f"probe-{number}"
            self._server.run("INSERT INTO changes (name) VALUES (%s)", name)
            sent[name.encode()] = time.monotonic()
            time.sleep(PROBE_INTERVAL_S)
        reader.join(PATIENCE_S)
        taken = sorted((seen[name] - moment) * 1000 for name, moment in sent.items())
        return {"p50 ms": taken[len(taken) // 2], "p99 ms": taken[int(len(taken) * 0.99)]}

    def _watch(self, probes: int, seen: dict[bytes, float]) -> None:
        consumer = self._consumer("pg.public.changes")
        consumer.poll(1.0)
        seen[b"ready"] = 0.0
        deadline = time.monotonic() + PATIENCE_S
        while len(seen) <= probes and time.monotonic() < deadline:
            for message in consumer.consume(1000, 0.01):
                value = message.value() or b""
                at = value.rfind(b'"name":"probe-')
                if message.error() is None and at >= 0:
                    seen.setdefault(value[at + 8 :].partition(b'"')[0], time.monotonic())
        consumer.close()

    # -- waiting

    def _timed(self, name: str, config: Mapping[str, str], done: Callable[[], Any]) -> float:
        began = time.monotonic()
        self._worker.create(name, {**config, **_JSON})
        done()
        return time.monotonic() - began

    def _all_in(self, topic: str, total: int, last_id: int) -> float:
        wanted = f'"id":{last_id},'.encode()
        return await_last(self._system.address, topic, total, lambda value: wanted in value)

    def _consumed(self, connector: str) -> None:
        def all_read() -> bool:
            told = self._worker.call("GET", f"/connectors/{connector}/offsets")[1]
            offsets = [each["offset"]["kafka_offset"] for each in told.get("offsets", ())]
            return sum(map(int, offsets)) >= self._total

        eventually(all_read, f"{connector} has read everything", PATIENCE_S)

    def _consumer(self, topic: str) -> Consumer:
        """At the end of the topic."""
        settings: dict[str, Any] = {
            "bootstrap.servers": self._system.address, "group.id": "bench-judge", "isolation.level":
            "read_committed", "enable.auto.commit": False, "fetch.wait.max.ms": 10, "log_level": 0,
        }  # fmt: skip
        consumer = Consumer(settings)
        place = TopicPartition(topic, 0)
        place.offset = consumer.get_watermark_offsets(place, 30)[1]
        consumer.assign([place])
        return consumer
