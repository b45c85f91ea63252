"""The REST Proxy: records a second over HTTP, written and read, and what they cost.

Requests to produce come from a generator in C, over kept connections with one request at a time on each.
Records are read by threads of Python. Generator, proxy and broker share the machine. Bytes are those of
values, before base64 and JSON make them longer.
"""

from __future__ import annotations

import base64
import http.client
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from typing import Any, Final

from benchmarks.bench import Bench
from benchmarks.http_generator import HttpGenerator, Service, http_request, service
from benchmarks.processes import peak_rss_mb
from benchmarks.results import Metric, Sample, Table
from benchmarks.sections.registry import measured
from benchmarks.systems import System, running
from penstock.client.admin import Admin

READERS: Final = 4
PARTITIONS: Final = 4
PRODUCED: Final = (
    Metric("requests/s", 0),
    Metric("k records/s", 1),
    Metric("CPU µs a request", 0),
    Metric("p50 ms", 1),
    Metric("p99 ms", 1),
    Metric("peak RSS MB", 0),
)
CONSUMED: Final = (Metric("MB/s", 1), Metric("k records/s", 1), Metric("requests/s", 0))
V2: Final = "application/vnd.kafka.v2+json"
BINARY: Final = "application/vnd.kafka.binary.v2+json"
numbers = count()


def run(bench: Bench) -> Iterator[Table]:
    generator = HttpGenerator(bench.work)
    produced, consumed = Table("REST Proxy: produce", PRODUCED), Table("REST Proxy: consume", CONSUMED)
    with running(bench.work, with_kafka=False) as (broker,):
        for workers in (1, 2):
            with service("rest", broker.address, workers) as proxy:
                for case, connections, prepare in (
                    ("v2, 1 record of 100 B a request", 4, partial(_batch_request, 100, 1)),
                    ("v2, 1 record of 100 B a request", 64, partial(_batch_request, 100, 1)),
                    ("v2, 100 records of 1 KB a request", 16, partial(_batch_request, 1000, 100)),
                    ("v3, streams of 1,000 records of 100 B", 8, partial(_stream_request, 100, 1000)),
                ):
                    sample = partial(_produced, bench, generator, proxy, connections, prepare)
                    name = f"{case}, {connections} connections, {workers} worker{'s'[: workers > 1]}"
                    produced.rows.append(bench.alternate(name, [broker], sample))
        with service("rest", broker.address) as proxy:
            for case, value_bytes in (("records of 1 KB", 1000), ("records of 100 B", 100)):
                sample = partial(_consumed, bench, proxy, value_bytes)
                consumed.rows.append(bench.alternate(f"v2, {case} as base64", [broker], sample))
    produced.notes.append(
        "CPU is that of the proxy and its workers. Each connection waits for its answer before it sends the "
        "next request. The memory of several workers is that of the process that starts them."
    )
    yield produced
    yield consumed


Prepare = Callable[[Service, str], tuple[bytes, str]]
"""The request, and the mark that each record has in its answer."""


def _produced(
    bench: Bench,
    generator: HttpGenerator,
    proxy: Service,
    connections: int,
    prepare: Prepare,
    broker: System,
) -> Sample:
    topic = f"rest-{next(numbers)}"
    Admin(broker.address).create_topic(topic, PARTITIONS, 1)
    request, mark = prepare(proxy, topic)
    found = measured(bench, generator, proxy, request, connections, mark)
    return found | {"peak RSS MB": peak_rss_mb(proxy.pid)}


def _batch_request(value_bytes: int, records: int, _proxy: Service, topic: str) -> tuple[bytes, str]:
    body = _batch(value_bytes, records)
    return http_request("POST", f"/topics/{topic}", BINARY, body), '"error_code":null'


def _stream_request(value_bytes: int, records: int, proxy: Service, topic: str) -> tuple[bytes, str]:
    (cluster,) = _request(proxy, "GET", "/v3/clusters")["data"]
    path = f"/v3/clusters/{cluster['cluster_id']}/topics/{topic}/records"
    body = json.dumps({"value": {"type": "STRING", "data": "x" * value_bytes}}).encode() * records
    return http_request("POST", path, "application/json", body), '"error_code":200'


Client = Callable[[http.client.HTTPConnection], tuple[int, int]]
"""Sends one request and reads its answer: records and bytes of values."""


def _consumed(bench: Bench, proxy: Service, value_bytes: int, broker: System) -> Sample:
    topic = f"rest-{next(numbers)}"
    Admin(broker.address).create_topic(topic, READERS, 1)
    clients = [_consume(value_bytes, proxy, topic, index) for index in range(READERS)]
    seconds = bench.effort.run_ms / 1000
    with ThreadPoolExecutor(READERS) as threads:
        done = list(threads.map(lambda client: _drive(proxy, client, seconds), clients))
    requests, records, size = (sum(each) for each in zip(*done, strict=True))
    return {
        "MB/s": size / seconds / 1e6,
        "k records/s": records / seconds / 1e3,
        "requests/s": requests / seconds,
    }


def _drive(proxy: Service, client: Client, seconds: float) -> tuple[int, int, int]:
    connection = http.client.HTTPConnection(proxy.address, timeout=30)
    requests = records = size = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        count, length = client(connection)
        requests, records, size = requests + 1, records + count, size + length
    connection.close()
    return requests, records, size


def _consume(value_bytes: int, proxy: Service, topic: str, index: int) -> Client:
    """A partition each, filled before; whoever reaches its end begins again."""
    batch = max(1, 500_000 // value_bytes)
    for _ in range(4):
        path = f"/topics/{topic}/partitions/{index}"
        _request(proxy, "POST", path, _batch(value_bytes, batch), BINARY)
    wanted = json.dumps({"partitions": [{"topic": topic, "partition": index}]}).encode()
    settings = {"format": "binary", "auto.offset.reset": "earliest", "fetch.min.bytes": 0}
    made = _request(proxy, "POST", f"/consumers/{topic}-{index}", json.dumps(settings).encode())
    instance = f"/consumers/{topic}-{index}/instances/{made['instance_id']}"
    _request(proxy, "POST", f"{instance}/assignments", wanted)
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


def _request(proxy: Service, method: str, path: str, body: bytes = b"", content_type: str = V2) -> Any:
    connection = http.client.HTTPConnection(proxy.address, timeout=30)
    try:
        return _ask(connection, method, path, body, content_type)
    finally:
        connection.close()


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
