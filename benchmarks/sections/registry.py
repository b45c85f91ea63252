"""The Schema Registry: registrations and look-ups a second, and what they cost.

Registrations are of new schemas under new subjects. Every look-up sends the whole schema. The generator takes
a few microseconds a request; registry, broker and generator share the machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Final

from benchmarks.bench import Bench
from benchmarks.http_generator import NUMBER, HttpGenerator, Service, http_request, service
from benchmarks.processes import family_cpu_seconds, rss_mb
from benchmarks.results import Metric, Sample, Table
from benchmarks.systems import System, running

CONNECTIONS: Final = (8, 32)
METRICS: Final = (
    Metric("requests/s", 0),
    Metric("CPU µs a request", 0),
    Metric("p50 ms", 1),
    Metric("p99 ms", 1),
    Metric("RSS MB", 0),
)
JSON: Final = "application/vnd.schemaregistry.v1+json"
numbers = count()


def run(bench: Bench) -> Iterator[Table]:
    table = Table("Schema Registry", METRICS)
    generator = HttpGenerator(bench.work)
    with running(bench.work, with_kafka=False) as (broker,):
        for connections in CONNECTIONS:
            for case, request in (
                ("registrations", _schema(f"/subjects/s{NUMBER}/versions", NUMBER)),
                ("schemas by id", http_request("GET", "/schemas/ids/1")),
                ("look-ups by schema", _schema("/subjects/known", "Known")),
            ):
                sample = partial(_sample, bench, generator, request, connections)
                name = f"{case}, {connections} connections"
                table.rows.append(bench.alternate(name, [broker], sample))
    table.notes.append("CPU is that of the registry alone. Each connection waits for its answer.")
    yield table


def _sample(
    bench: Bench, generator: HttpGenerator, request: bytes, connections: int, broker: System
) -> Sample:
    """A registry with an empty topic each time: what is kept has a cost of its own."""
    with service("registry", broker.address, 1, f"kafkastore.topic=schemas-{next(numbers)}") as registry:
        generator.run(registry, _schema("/subjects/known/versions", "Known"), 1, 0, 100)
        return measured(bench, generator, registry, request, connections) | {"RSS MB": rss_mb(registry.pid)}


def measured(
    bench: Bench, generator: HttpGenerator, asked: Service, request: bytes, connections: int, mark: str = ""
) -> Sample:
    """Requests, and marks where there is one, with the CPU of the service and its workers."""
    generator.run(asked, request, connections, 0, bench.effort.warm_ms, mark)
    before = family_cpu_seconds(asked.pid, 0)
    found = generator.run(asked, request, connections, 0, bench.effort.run_ms, mark)
    spent = family_cpu_seconds(asked.pid, 0) - before
    return {
        "requests/s": found.requests / found.seconds,
        "k records/s": found.marks / found.seconds / 1e3,
        "CPU µs a request": 1e6 * spent / max(1, found.requests),
        "p50 ms": found.p50_ms,
        "p99 ms": found.p99_ms,
    }


def _schema(path: str, name: str) -> bytes:
    fields = '[{"name":"a","type":"int"},{"name":"b","type":["null","string"],"default":null}]'
    schema = f'{{"type":"record","name":"R{name}","fields":{fields}}}'
    return http_request("POST", path, JSON, json.dumps({"schema": schema}).encode())
