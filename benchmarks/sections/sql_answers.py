"""How soon the SQL server answers: pull queries by key, the first row of a push query, a new query."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Protocol

import httpx

from benchmarks.bench import Bench
from benchmarks.results import Metric, Row, Table
from benchmarks.systems import System
from tests.sqlserver.servers import Server, running_server

KEYS: Final = 10_000
THREADS: Final = 8
NAME: Final = "Penstock SQL"
EARLIEST: Final = {"auto.offset.reset": "earliest"}
METRICS: Final = (Metric("p50 ms", 1), Metric("p99 ms", 1), Metric("a second", 0))


class Ask(Protocol):
    """One question; `client` is that of the server if it is not given."""

    def __call__(self, number: int, client: httpx.Client | None = None) -> None: ...


def run(bench: Bench, system: System) -> Iterator[Table]:
    table = Table(f"SQL: answers of a server, a table of {KEYS:,} keys", METRICS)
    with (
        tempfile.TemporaryDirectory() as state,
        running_server(system.address, ksql_streams_state_dir=state) as server,
    ):
        _prepare(server)
        few = bench.effort.quick
        table.rows.append(_timed("pull by key, one client", _pull(server), 300 if few else 5000))
        table.rows.append(_together(server, 500 if few else 8000))
        table.rows.append(_timed("first row of a push query", _push(server), 20 if few else 200))
        table.rows.append(_timed("statement until its first row, Spark runs", _statement(server), 4))
    yield table


def _prepare(server: Server) -> None:
    server.ksql(
        "CREATE TABLE written (id INT PRIMARY KEY, name STRING) "
        "WITH (KAFKA_TOPIC='bench-sql-table', VALUE_FORMAT='JSON', PARTITIONS=4);"
        "CREATE SOURCE TABLE looked (id INT PRIMARY KEY, name STRING) "
        "WITH (KAFKA_TOPIC='bench-sql-table', VALUE_FORMAT='JSON');"
        "CREATE STREAM changes (id INT KEY, name STRING) "
        "WITH (KAFKA_TOPIC='bench-sql-table', VALUE_FORMAT='JSON');"
    )
    rows = "".join(json.dumps({"ID": number, "NAME": f"n{number}"}) + "\n" for number in range(KEYS))
    answer = server.client.post("/inserts-stream", content=f'{{"target":"WRITTEN"}}\n{rows}', timeout=600)
    assert answer.text.count('"ok"') == KEYS
    server.wait_for_rows(f"SELECT id FROM looked WHERE id = {KEYS - 1};", bool)
    server.ksql("CREATE STREAM warm AS SELECT * FROM changes EMIT CHANGES;", auto_offset_reset="earliest")
    server.wait_for_rows("SELECT id FROM warm LIMIT 1;", bool, 300)  # Spark runs from now on


def _pull(server: Server) -> Ask:
    def ask(number: int, client: httpx.Client | None = None) -> None:
        text = f"SELECT * FROM looked WHERE id = {number * 7919 % KEYS};"
        answer = (client or server.client).post("/query-stream", json={"sql": text})
        assert answer.text.count("\n") == 2, answer.text

    return ask


def _push(server: Server) -> Ask:
    def ask(number: int, client: httpx.Client | None = None) -> None:
        body = {"sql": "SELECT * FROM changes EMIT CHANGES;", "properties": EARLIEST}
        with server.client.stream("POST", "/query-stream", json=body) as answer:
            lines = answer.iter_lines()
            next(lines)
            next(lines)

    return ask


def _statement(server: Server) -> Ask:
    def ask(number: int, client: httpx.Client | None = None) -> None:
        text = f"CREATE STREAM new{number} AS SELECT * FROM changes EMIT CHANGES;"
        server.ksql(text, auto_offset_reset="earliest")
        body: dict[str, Any] = {"sql": f"SELECT * FROM new{number} EMIT CHANGES;", "properties": EARLIEST}
        with server.client.stream("POST", "/query-stream", json=body, timeout=300) as answer:
            lines = answer.iter_lines()
            next(lines)
            while not next(lines).strip():  # an empty line says that there is nothing yet
                pass

    return ask


def _timed(case: str, ask: Ask, count: int) -> Row:
    ask(0)
    taken = []
    for number in range(1, count + 1):
        began = time.perf_counter()
        ask(number)
        taken.append((time.perf_counter() - began) * 1e3)
    return Row(case, {NAME: [{"p50 ms": statistics.median(taken), "p99 ms": _p99(taken)}]})


def _together(server: Server, count: int) -> Row:
    def part(first: int) -> list[float]:
        taken = []
        with httpx.Client(base_url=server.url, timeout=60) as client:
            for number in range(first, count, THREADS):
                began = time.perf_counter()
                _pull(server)(number, client)
                taken.append((time.perf_counter() - began) * 1e3)
        return taken

    began = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        taken = [each for found in pool.map(part, range(THREADS)) for each in found]
    sample = {"p50 ms": statistics.median(taken), "p99 ms": _p99(taken)}
    sample["a second"] = count / (time.perf_counter() - began)
    return Row(f"pull by key, {THREADS} clients", {NAME: [sample]})


def _p99(taken: list[float]) -> float:
    return sorted(taken)[min(len(taken) - 1, len(taken) * 99 // 100)]
