"""What security costs: produce and consume over TLS, handshakes a second, and the time of an ACL decision.

TLS 1.3 with the cipher that client and broker agree on (AES-256-GCM on machines with AES instructions). The
load generator encrypts and decrypts as well, in one thread, so that it may be the bound at many connections:
the column `generator busy` says so.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Final

from benchmarks.batches import batch_of
from benchmarks.bench import Bench
from benchmarks.plan import Plan
from benchmarks.processes import cpu_seconds
from benchmarks.results import Metric, Row, Sample, Table
from benchmarks.sections.throughput import LOAD_MS, LOADED_BYTES, METRICS, UNBOUNDED, Case, producers, sample
from benchmarks.secured import TlsSystem, tls_systems
from benchmarks.topics import topic
from penstock.records.codecs import Codec
from penstock.security.acls import Acl, PatternType, Permission
from penstock.security.operations import Operation, ResourceType
from penstock.security.principals import Principal, user
from penstock.security.standard_authorizer import StandardAuthorizer

BATCH_SIZES: Final = (16 * 1024, 100 * 1024)
HANDSHAKERS: Final = 4
ENTRIES: Final = 10_000
DECISIONS: Final = 20_000


def cases() -> list[Case]:
    return [Case(100, connections, Codec.NONE, size) for connections in (1, 16) for size in BATCH_SIZES]


def run(bench: Bench) -> Iterator[Table]:
    produce, consume = Table("Produce over TLS", METRICS), Table("Consume over TLS", METRICS)
    shakes = Table("TLS handshakes", (Metric("handshakes/s", 0), Metric("broker CPU ms each", 2)))
    with tls_systems(bench) as systems:
        for system in systems:
            _warm_up(bench, system)
        for case in cases():
            produce.rows.append(bench.alternate(str(case), systems, partial(_produce, bench, case)))
        yield produce
        for case in cases():
            consume.rows.append(bench.alternate(str(case), systems, partial(_consume, bench, case)))
        yield consume
        row = bench.alternate("TLS 1.3, new sessions", systems, partial(_handshakes, bench))
        shakes.rows.append(row)
        yield shakes
    yield _decisions(bench)


def _warm_up(bench: Bench, system: TlsSystem) -> None:
    share_ms = int(bench.effort.warm_up_seconds * 1000 / 4)
    for batch_bytes in (1024, 100 * 1024):
        batch = batch_of(100, batch_bytes)
        with topic(system, 4) as name:
            plan = Plan()
            for partition in range(4):
                plan.producer(name, [partition], batch)
            written = system.load(bench, plan, warm_ms=0, run_ms=share_ms)
            plan = Plan()
            for partition in range(4):
                plan.consumer(name, partition, end=written.answered[partition] * batch.records)
            system.load(bench, plan, warm_ms=0, run_ms=share_ms, max_bytes=UNBOUNDED)


def _produce(bench: Bench, case: Case, system: TlsSystem) -> Sample:
    with topic(system, case.connections) as name:
        return sample(system.load(bench, producers(name, case)))


def _consume(bench: Bench, case: Case, system: TlsSystem) -> Sample:
    with topic(system, case.connections) as name:
        load_ms = min(LOAD_MS, bench.effort.run_ms)
        written = system.load(bench, producers(name, case), warm_ms=0, run_ms=load_ms, max_bytes=LOADED_BYTES)
        plan = Plan()
        for partition, batches in enumerate(written.answered):
            plan.consumer(name, partition, end=batches * case.batch.records)
        return sample(system.load(bench, plan, max_bytes=UNBOUNDED))


def _handshakes(bench: Bench, system: TlsSystem) -> Sample:
    """As many as four threads finish; the client's half of the work is the same for both brokers."""
    context = ssl.create_default_context(cafile=str(system.authority))
    host, _, port = system.tls_address.rpartition(":")
    counts = [0] * HANDSHAKERS
    seconds = bench.effort.run_ms / 1000
    end = time.monotonic() + seconds

    def shake(number: int) -> None:
        while time.monotonic() < end:
            with (
                socket.create_connection((host, int(port)), 10) as plain,
                context.wrap_socket(plain, server_hostname=host),
            ):
                counts[number] += 1

    before = cpu_seconds(system.pid)
    threads = [threading.Thread(target=shake, args=[number]) for number in range(HANDSHAKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    used = cpu_seconds(system.pid) - before
    return {"handshakes/s": sum(counts) / seconds, "broker CPU ms each": used * 1000 / max(1, sum(counts))}


def _decisions(bench: Bench) -> Table:
    table = Table(
        f"Decisions of the authorizer, {ENTRIES:,} entries", (Metric("µs", 2), Metric("denied µs", 2))
    )
    for case, patterns in (
        ("all literal", (PatternType.LITERAL,)),
        ("half prefixed", (PatternType.LITERAL, PatternType.PREFIXED)),
    ):
        authorizer = _authorizer(patterns)
        samples: list[Sample] = [
            {
                "µs": _decision_us(authorizer, user("user-7"), "topic-7"),
                "denied µs": _decision_us(authorizer, user("nobody"), "topic-7"),
            }
            for _ in range(bench.effort.rounds)
        ]
        table.rows.append(Row(case, {"Penstock": samples}))
    table.notes.append("One thread of Python, from principal, operation and topic to yes or no.")
    return table


def _authorizer(patterns: tuple[PatternType, ...]) -> StandardAuthorizer:
    entries = {
        number.to_bytes(8, "big"): Acl(
            ResourceType.TOPIC,
            patterns[number % len(patterns)],
            f"topic-{number % 1000}",
            f"User:user-{number % 1000}",
            "*",
            (Operation.READ, Operation.WRITE)[number % 2],
            Permission.ALLOW,
        )
        for number in range(ENTRIES)
    }
    authorizer = StandardAuthorizer(lambda: entries)
    assert authorizer.decide(user("user-7"), "127.0.0.1", Operation.WRITE, ResourceType.TOPIC, "topic-7")[0]
    return authorizer


def _decision_us(authorizer: StandardAuthorizer, principal: Principal, name: str) -> float:
    began = time.perf_counter()
    for _ in range(DECISIONS):
        authorizer.decide(principal, "127.0.0.1", Operation.WRITE, ResourceType.TOPIC, name)
    return (time.perf_counter() - began) / DECISIONS * 1e6
