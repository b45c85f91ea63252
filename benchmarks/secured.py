"""The two brokers with a TLS listener beside the plain one, which makes topics; the load goes over TLS.

Both get the same certificate, of elliptic curves, and the same properties.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.bench import Bench
from benchmarks.generator import Outcome
from benchmarks.plan import Plan
from benchmarks.systems import (
    JAVA_OPTIONS,
    KAFKA_SETTINGS,
    PENSTOCK_SETTINGS,
    Kafka,
    System,
    allow_many_files,
)
from penstock.testing.process import BrokerProcess
from tests.peers.apache_kafka import ApacheKafka, free_port
from tests.security.certificates import PASSWORD, Authority

NAMES: Final = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,TLS:SSL"


@dataclass(frozen=True, slots=True)
class TlsSystem:
    """A broker under load; `address` is the plain one."""

    name: str
    address: str
    tls_address: str
    pid: int
    data: Path
    authority: Path

    def start(self) -> None:
        raise NotImplementedError("it runs for as long as the section")

    def stop(self) -> None:
        raise NotImplementedError("it runs for as long as the section")

    def load(
        self,
        bench: Bench,
        plan: Plan,
        *,
        warm_ms: int | None = None,
        run_ms: int | None = None,
        max_bytes: int = 0,
    ) -> Outcome:
        effort = bench.effort
        return bench.generator.run(
            plan,
            self.tls_address,
            pid=self.pid,
            warm_ms=effort.warm_ms if warm_ms is None else warm_ms,
            run_ms=effort.run_ms if run_ms is None else run_ms,
            max_bytes=max_bytes or effort.max_bytes,
            authority=self.authority,
        )


@contextmanager
def tls_systems(bench: Bench) -> Iterator[list[TlsSystem]]:
    """Fresh brokers on empty directories."""
    allow_many_files()
    folder = bench.work / "tls"
    folder.mkdir(exist_ok=True)
    authority = Authority(folder)
    server = authority.issue("broker")
    own = {
        "listener.security.protocol.map": NAMES,
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(server.pkcs12),
        "ssl.keystore.password": PASSWORD,
    }
    with _penstock(bench, own, authority) as penstock:
        if not bench.with_kafka:
            yield [penstock]
            return
        with _kafka(bench, own, authority) as kafka:
            yield [penstock, kafka]


@contextmanager
def _penstock(bench: Bench, own: dict[str, str], authority: Authority) -> Iterator[TlsSystem]:
    data = bench.work / "penstock-tls"
    plain, secured = (f"127.0.0.1:{free_port()}" for _ in range(2))
    listeners = {"listeners": f"PLAINTEXT://{plain},TLS://{secured}"}
    process = BrokerProcess(str(data), {**PENSTOCK_SETTINGS, **own, **listeners}, plain)
    process.start()
    try:
        yield TlsSystem("Penstock", plain, secured, process.pid, data, authority.path)
    finally:
        process.kill()
        shutil.rmtree(data, ignore_errors=True)


@contextmanager
def _kafka(bench: Bench, own: dict[str, str], authority: Authority) -> Iterator[TlsSystem]:
    secured = f"127.0.0.1:{free_port()}"
    node = ApacheKafka({**KAFKA_SETTINGS, **own}, JAVA_OPTIONS, bench.work)
    plain = node.bootstrap_servers
    node.settings["listeners"] = (
        f"PLAINTEXT://{plain},TLS://{secured},CONTROLLER://127.0.0.1:{node.controller_port}"
    )
    node.settings["advertised.listeners"] = f"PLAINTEXT://{plain},TLS://{secured}"
    with node:
        system: System = Kafka(node)
        yield TlsSystem(system.name, plain, secured, system.pid, system.data, authority.path)
