"""The Schema Registry: registrations and look-ups a second, and the memory that it takes."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from benchmarks.bench import Bench
from benchmarks.processes import rss_mb
from benchmarks.results import Metric, Row, Sample, Table
from penstock.testing import Broker

CLIENTS: Final = 8
REGISTERED, READ, FOUND, MEMORY = "registrations/s", "by id/s", "look-ups/s", "RSS MB"
METRICS: Final = (Metric(REGISTERED, 0), Metric(READ, 0), Metric(FOUND, 0), Metric(MEMORY, 0))


def run(bench: Bench) -> Iterator[Table]:
    """Eight clients with a connection each; every schema is new, every look-up parses its schema."""
    table = Table("Schema Registry", METRICS)
    samples = [_sample(bench.effort.run_ms / 1000) for _ in range(bench.effort.rounds)]
    table.rows.append(Row(f"{CLIENTS} clients, Avro records", {"Penstock": samples}))
    yield table


def _sample(seconds: float) -> Sample:
    with Broker() as broker:
        command = [sys.executable, "-m", "penstock", "registry", "--listen", "127.0.0.1:0"]
        command += ["--bootstrap-servers", broker.bootstrap_servers, "--log-level", "error"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                address = process.stdout.readline().split()[1]
                return {
                    REGISTERED: _rate(address, seconds, _register),
                    READ: _rate(address, seconds, _read),
                    FOUND: _rate(address, seconds, _look_up),
                    MEMORY: rss_mb(process.pid),
                }
            finally:
                process.terminate()


def _rate(address: str, seconds: float, ask: Callable[[http.client.HTTPConnection, int, int], None]) -> float:
    counts = [0] * CLIENTS
    end = time.monotonic() + seconds

    def work(client: int) -> None:
        connection = http.client.HTTPConnection(address, timeout=30)
        while time.monotonic() < end:
            ask(connection, client, counts[client])
            counts[client] += 1
        connection.close()

    threads = [threading.Thread(target=work, args=(client,)) for client in range(CLIENTS)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.monotonic() - began)


def _schema(client: int, number: int) -> str:
    fields = '[{"name":"a","type":"int"},{"name":"b","type":["null","string"],"default":null}]'
    return json.dumps({"schema": f'{{"type":"record","name":"R{client}_{number}","fields":{fields}}}'})


def _register(connection: http.client.HTTPConnection, client: int, number: int) -> None:
    _ask(connection, "POST", f"/subjects/s{client}-{number}/versions", _schema(client, number))


def _read(connection: http.client.HTTPConnection, _client: int, number: int) -> None:
    _ask(connection, "GET", f"/schemas/ids/{1 + number % 8}")


def _look_up(connection: http.client.HTTPConnection, client: int, number: int) -> None:
    _ask(connection, "POST", f"/subjects/s{client}-0", _schema(client, 0))


def _ask(connection: http.client.HTTPConnection, method: str, path: str, body: str | None = None) -> None:
    connection.request(method, path, body)
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == 200, text
