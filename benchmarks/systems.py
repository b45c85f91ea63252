"""The two brokers that are measured, each as a process of its own, started with the defaults of its makers.

Both keep their data below one directory, so on one file system. Apache Kafka gets the heap and the collector
that its own start script gives it.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from penstock.testing.process import BrokerProcess
from tests.peers.apache_kafka import VERSION, ApacheKafka, Unavailable, jars

STOP_SECONDS: Final = 300.0  # thousands of logs are written to disk, and the disk may be busy
PENSTOCK: Final = "Penstock"
KAFKA: Final = f"Kafka {VERSION}"
# bin/kafka-server-start.sh and bin/kafka-run-class.sh of the distribution.
JAVA_OPTIONS: Final = (
    *("-Xms1G", "-Xmx1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"),
    *("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent"),
)
# Topics are made and deleted for each case: what is deleted must leave the page cache soon, in both.
KAFKA_SETTINGS: Final = {"log.segment.delete.delay.ms": "1000", "log.cleaner.backoff.ms": "1000"}
PENSTOCK_SETTINGS: Final = {"log.cleaner.backoff.ms": "1000"}


class System(Protocol):
    """A broker under load."""

    name: str
    data: Path

    @property
    def address(self) -> str: ...

    @property
    def pid(self) -> int: ...

    def start(self) -> None:
        """Start on the data that is there, at the same address as before."""
        ...

    def stop(self) -> None:
        """The clean shutdown; data and address stay."""
        ...


class Penstock:
    name = PENSTOCK

    def __init__(self, work: Path) -> None:
        self.data = work / "penstock"
        self._process = BrokerProcess(str(self.data), PENSTOCK_SETTINGS)

    @property
    def address(self) -> str:
        return self._process.bootstrap_servers

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self) -> None:
        self._process.start()

    def stop(self) -> None:
        _end(self.pid)
        self._process.stop()

    def kill(self) -> None:
        self._process.kill()


class Kafka:
    name = KAFKA

    def __init__(self, node: ApacheKafka) -> None:
        self._node = node
        self.data = node.data

    @property
    def address(self) -> str:
        return self._node.bootstrap_servers

    @property
    def pid(self) -> int:
        return self._node.pid

    def start(self) -> None:
        self._node.start()

    def stop(self) -> None:
        self._node.stop(patience_seconds=STOP_SECONDS)


def kafka_missing() -> str | None:
    """Why there is nothing to compare with, or None."""
    try:
        jars()
    except Unavailable as reason:
        return str(reason)
    return None


@contextmanager
def running(work: Path, *, with_kafka: bool) -> Iterator[list[System]]:
    """Fresh brokers on empty directories; they and their data are gone afterwards."""
    allow_many_files()
    penstock = Penstock(work)
    penstock.start()
    try:
        if not with_kafka:
            yield [penstock]
            return
        with ApacheKafka(KAFKA_SETTINGS, JAVA_OPTIONS, work) as node:
            yield [penstock, Kafka(node)]
    finally:
        penstock.kill()  # its data goes, so nothing need be written
        shutil.rmtree(penstock.data, ignore_errors=True)


def _end(pid: int) -> None:
    """Ask the process to end and wait until it has; whoever started it still learns its exit code."""
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"Penstock did not stop within {STOP_SECONDS} s")
        time.sleep(0.005)


def allow_many_files() -> None:
    """Thousands of connections and partitions need descriptors, here and in the brokers that inherit this."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
