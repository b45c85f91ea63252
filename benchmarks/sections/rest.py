"""The REST Proxy: records a second over HTTP, written and read, and the memory of its process.

The requests are made beforehand and sent over kept connections, one request at a time on each; clients,
proxy and broker share the machine. Bytes are those of values, before base64 and JSON make them longer.
"""

from __future__ import annotations

import base64
import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Final

from benchmarks.bench import Bench
from benchmarks.processes import peak_rss_mb
from benchmarks.results import Metric, Sample, Table
from benchmarks.systems import System, running
from penstock.client.admin import Admin

CONNECTIONS: Final = 4
METRICS: Final = (
    Metric("MB/s", 1),
    Metric("k records/s", 1),
    Metric("requests/s", 0),
    Metric("peak RSS MB", 0),
)
V2: Final = "application/vnd.kafka.v2+json"
numbers = count()


@dataclass(frozen=True, slots=True)
class Proxy:
    address: str
    pid: int

    def request(self, method: str, path: str, body: bytes = b"", content_type: str = V2) -> Any:
        connection = http.client.HTTPConnection(self.address, timeout=30)
        try:
            return _ask(connection, method, path, body, content_type)
        finally:
            connection.close()


def run(bench: Bench) -> Iterator[Table]:
    table = Table("REST Proxy", METRICS)
    with running(bench.work, with_kafka=False) as (broker,), _proxy(broker) as proxy:
        for case, measure in (
            ("v2 produce, 100 records of 1 KB as base64 a request", partial(_produce, 1000, 100)),
            ("v2 produce, 1 record of 100 B a request", partial(_produce, 100, 1)),
            ("v3 produce, streams of 1,000 records of 100 B", partial(_stream, 100, 1000)),
            ("v2 consume, records of 1 KB as base64", partial(_consume, 1000)),
            ("v2 consume, records of 100 B as base64", partial(_consume, 100)),
        ):
            sample = partial(_sample, bench, proxy, measure)
            table.rows.append(bench.alternate(case, [broker], sample))
    table.notes.append(f"{CONNECTIONS} clients. Each waits for the answer before it sends the next request.")
    yield table


@contextmanager
def _proxy(broker: System) -> Iterator[Proxy]:
    command = [sys.executable, "-m", "penstock", "rest", "--listen", "127.0.0.1:0"]
    command += ["--bootstrap-servers", broker.address, "--log-level", "warning"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Proxy(process.stdout.readline().split()[1], process.pid)
    finally:
        process.terminate()
        process.wait(30)


Client = Callable[[http.client.HTTPConnection], tuple[int, int]]
"""Sends one request and reads its answer: records and bytes of values."""


def _sample(
    bench: Bench, proxy: Proxy, prepare: Callable[[Proxy, str, int], Client], broker: System
) -> Sample:
    topic = f"rest-{next(numbers)}"
    Admin(broker.address).create_topic(topic, CONNECTIONS, 1)
    clients = [prepare(proxy, topic, index) for index in range(CONNECTIONS)]
    seconds = bench.effort.run_ms / 1000
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        done = list(threads.map(lambda client: _drive(proxy, client, seconds), clients))
    requests, records, size = (sum(each) for each in zip(*done, strict=True))
    return {
        "MB/s": size / seconds / 1e6,
        "k records/s": records / seconds / 1e3,
        "requests/s": requests / seconds,
        "peak RSS MB": peak_rss_mb(proxy.pid),
    }


def _drive(proxy: Proxy, client: Client, seconds: float) -> tuple[int, int, int]:
    connection = http.client.HTTPConnection(proxy.address, timeout=30)
    requests = records = size = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        count, length = client(connection)
        requests, records, size = requests + 1, records + count, size + length
    connection.close()
    return requests, records, size


def _produce(value_bytes: int, records: int, _proxy: Proxy, topic: str, _index: int) -> Client:
    body = _batch(value_bytes, records)

    def send(connection: http.client.HTTPConnection) -> tuple[int, int]:
        answer = _ask(connection, "POST", f"/topics/{topic}", body, "application/vnd.kafka.binary.v2+json")
        assert answer["offsets"][-1]["error_code"] is None, answer["offsets"][-1]
        return records, records * value_bytes

    return send


def _stream(value_bytes: int, records: int, proxy: Proxy, topic: str, _index: int) -> Client:
    (cluster,) = proxy.request("GET", "/v3/clusters")["data"]
    path = f"/v3/clusters/{cluster['cluster_id']}/topics/{topic}/records"
    body = json.dumps({"value": {"type": "STRING", "data": "x" * value_bytes}}).encode() * records

    def send(connection: http.client.HTTPConnection) -> tuple[int, int]:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answers = connection.getresponse().read().count(b'"error_code":200')
        assert answers == records
        return records, records * value_bytes

    return send


def _consume(value_bytes: int, proxy: Proxy, topic: str, index: int) -> Client:
    """A partition each, filled before; whoever reaches its end begins again."""
    batch = max(1, 500_000 // value_bytes)
    for _ in range(4):
        proxy.request(
            "POST",
            f"/topics/{topic}/partitions/{index}",
            _batch(value_bytes, batch),
            "application/vnd.kafka.binary.v2+json",
        )
    wanted = json.dumps({"partitions": [{"topic": topic, "partition": index}]}).encode()
    settings = {"format": "binary", "auto.offset.reset": "earliest", "fetch.min.bytes": 0}
    made = proxy.request("POST", f"/consumers/{topic}-{index}", json.dumps(settings).encode())
    instance = f"/consumers/{topic}-{index}/instances/{made['instance_id']}"
    proxy.request("POST", f"{instance}/assignments", wanted)
    read = 0

    def receive(connection: http.client.HTTPConnection) -> tuple[int, int]:
        nonlocal read
        found = len(_ask(connection, "GET", f"{instance}/records?max_bytes=1000000"))
        read += found
        if read >= 4 * batch:
            read = 0
            _ask(connection, "POST", f"{instance}/positions/beginning", wanted)
        return found, found * value_bytes

    return receive


def _batch(value_bytes: int, records: int) -> bytes:
    value = base64.b64encode(b"x" * value_bytes).decode()
    return json.dumps({"records": [{"value": value}] * records}).encode()


def _ask(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes = b"",
    content_type: str = V2,
) -> Any:
    connection.request(method, path, body or None, {"Content-Type": content_type} if body else {})
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status < 300, text[:200]
    return json.loads(text) if text else None
