"""A mirror beside MirrorMaker 2: the same two brokers, the same mm2.properties, one mirror after the other.

Each mirror first copies a backlog that is not counted, so that its JVM has compiled what it runs most.
Throughput and CPU: a topic is filled as fast as the load generator can while the mirror runs, until the copy
has everything. Lag: a thousand records a second, each with the time when it was sent, read on the target. The
brokers are Penstock's for both, so only the mirror differs. MirrorMaker 2 copies at least once, as is its
default; ours exactly once. CPU is that of the mirror alone, with all its processes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from benchmarks.bench import Bench
from benchmarks.processes import family_cpu_seconds
from benchmarks.results import Metric, Sample, Table
from benchmarks.sections.throughput import Case, producers
from benchmarks.systems import Penstock
from benchmarks.topics import create
from penstock.records.codecs import Codec
from tests.mirroring.rig import Client, write_config
from tests.peers.apache_kafka import VERSION, Unavailable, mirror_jars

PARTITIONS: Final = 4
PATIENCE_SECONDS: Final = 600.0
RATE: Final = 1000
WARM: Final = Case(100, PARTITIONS, Codec.NONE, 16 * 1024)
_numbers = count()


class Mirroring(NamedTuple):
    """A mirror that runs between the two brokers."""

    name: str
    command: Callable[[Path], list[str]]


def _ours(config: Path) -> list[str]:
    return [sys.executable, "-m", "penstock", "mirror", "--config", str(config), "--listen", "127.0.0.1:0"]


def _theirs(config: Path) -> list[str]:
    java = ["java", "-Xms256M", "-Xmx2G", "-server", "-XX:+UseG1GC", "-Dlog4j2.level=WARN"]
    return [*java, "-cp", f"{mirror_jars()}/*", "org.apache.kafka.connect.mirror.MirrorMaker", str(config)]


def _mirrors(bench: Bench) -> list[Mirroring]:
    found = [Mirroring("Penstock", _ours)]
    if bench.with_kafka:
        try:
            mirror_jars()
            found.append(Mirroring(f"MirrorMaker {VERSION}", _theirs))
        except Unavailable:
            pass
    return found


def run(bench: Bench) -> Iterator[Table]:
    speed = Table("Mirror, a backlog", (Metric("MB/s", 1), Metric("CPU s/GB", 2)))
    lag = Table(
        f"Mirror, {RATE} records/s",
        (Metric("p50 ms", 0), Metric("p99 ms", 0)),
    )
    with ExitStack() as running:
        brokers = [running.enter_context(_broker(bench.work / name)) for name in ("mirror-a", "mirror-b")]
        for codec in (Codec.NONE, Codec.LZ4):
            case = Case(100, PARTITIONS, codec, 16 * 1024)
            measured = partial(_backlog, bench, brokers, case)
            speed.rows.append(bench.alternate(str(case), _mirrors(bench), measured))
        yield speed
        row = bench.alternate("100-byte records", _mirrors(bench), partial(_lag, bench, brokers))
        lag.rows.append(row)
        yield lag


@contextmanager
def _broker(directory: Path) -> Iterator[Penstock]:
    directory.mkdir()
    broker = Penstock(directory)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()


@contextmanager
def _mirror(bench: Bench, brokers: list[Penstock], system: Mirroring, topic: str) -> Iterator[int]:
    """The pid of a mirror that has copied a first load of the topic."""
    clusters = {f"s{next(_numbers)}": brokers[0].address, f"t{next(_numbers)}": brokers[1].address}
    source, target = clusters
    config = bench.work / f"{topic}.properties"
    write_config(config, clusters, [f"{source}->{target}"], topics=topic, tasks_max=str(PARTITIONS),
                 emit_heartbeats_enabled="false")  # fmt: skip
    with (bench.work / f"{topic}.log").open("wb") as log:
        process = subprocess.Popen(system.command(config), stdout=log, stderr=log, start_new_session=True)
    try:
        warm_ms = 1000 if bench.effort.quick else 5000
        written = bench.load(brokers[0], producers(topic, WARM), warm_ms=0, run_ms=warm_ms)
        _wait(brokers[1].address, f"{source}.{topic}", sum(written.answered) * WARM.batch.records)
        yield process.pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


def _backlog(bench: Bench, brokers: list[Penstock], case: Case, system: Mirroring) -> Sample:
    topic = f"backlog-{next(_numbers)}"
    create(brokers[0], topic, PARTITIONS)
    with _mirror(bench, brokers, system, topic) as pid:
        there = _records(brokers[1].address, _copied(brokers[1].address, topic))
        before, began = family_cpu_seconds(pid, os.getpid()), time.monotonic()
        written = bench.load(brokers[0], producers(topic, case), warm_ms=0)
        records = sum(written.answered) * case.batch.records
        _wait(brokers[1].address, _copied(brokers[1].address, topic), there + records)
        seconds = time.monotonic() - began
        used = family_cpu_seconds(pid, os.getpid()) - before
    size = sum(written.answered) * len(case.batch.data)
    return {"MB/s": size / seconds / 1e6, "CPU s/GB": used / (size / 1e9)}


def _lag(bench: Bench, brokers: list[Penstock], system: Mirroring) -> Sample:
    topic = f"lag-{next(_numbers)}"
    create(brokers[0], topic, PARTITIONS)
    seconds = 5 if bench.effort.quick else 30
    with _mirror(bench, brokers, system, topic):
        copied = _copied(brokers[1].address, topic)
        stopping, found = threading.Event(), list[float]()
        reader = threading.Thread(target=_read, args=(brokers[1].address, copied, stopping, found))
        reader.start()
        producer = Producer({"bootstrap.servers": brokers[0].address, "linger.ms": 5})
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(RATE // 100):
                producer.produce(topic, b"x" * 100)
            producer.poll(0)
            time.sleep(0.01)
        producer.flush(30)
        time.sleep(5)
        stopping.set()
        reader.join(30)
    found.sort()
    return {"p50 ms": found[len(found) // 2], "p99 ms": found[int(len(found) * 0.99)]}


def _read(servers: str, topic: str, stopping: threading.Event, found: list[float]) -> None:
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "lag", "isolation.level": "read_committed"}
    )
    consumer.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])
    while not stopping.is_set():
        for message in consumer.consume(1000, 0.05):
            if message.error() is None:
                found.append(max(0.0, time.time() * 1000 - message.timestamp()[1]))
    consumer.close()


def _copied(servers: str, topic: str) -> str:
    """The name on the target: aliases differ from sample to sample."""
    return next(name for name in Client(servers).topics() if name.endswith(f".{topic}"))


def _records(servers: str, topic: str) -> int:
    client = Client(servers)
    return sum(client.end(topic, number) for number in range(PARTITIONS))


def _wait(servers: str, topic: str, records: int) -> None:
    client, deadline = Client(servers), time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        # A topic that was just created may have no leader yet.
        with suppress(KafkaException):
            known = topic in client.topics()
            if known and _records(servers, topic) >= records:
                return
        time.sleep(0.05)
    raise TimeoutError(f"{topic} has no {records} records after {PATIENCE_SECONDS:.0f} s")
