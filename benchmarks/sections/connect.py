"""Connect beside Kafka Connect: a file into a topic, each worker exactly once, on one broker of ours.

The same file, configuration and broker for both; Kafka Connect has `exactly.once.source.support=enabled`.
Measured is the time from the request that creates the connector until the last line is committed. The JVM of
Kafka Connect and Spark run by then, because a small file went through before. The processor time is that of
the worker with everything it has started.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from glob import glob
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.bench import Bench, say
from benchmarks.processes import family_cpu_seconds
from benchmarks.results import Metric, Row, Sample, Table
from benchmarks.sections import connect_databases
from benchmarks.sections.connect_reading import await_last
from benchmarks.systems import System, running
from benchmarks.topics import topic
from tests.connectors.worker import Worker
from tests.peers.apache_kafka import Unavailable, connect_jars
from tests.peers.connect.apache_connect import ApacheConnect, asked

TOTAL: Final = 2_000_000
QUICK_TOTAL: Final = 500_000
WARM_TOTAL: Final = 20_000
LINE_BYTES: Final = 100
PATIENCE_S: Final = 600.0
SOURCE: Final = "org.apache.kafka.connect.file.FileStreamSourceConnector"
METRICS: Final = (Metric("k rows/s", 1), Metric("CPU s per M rows", 2))


class Engine(NamedTuple):
    name: str
    url: str
    pid: int


def run(bench: Bench) -> Iterator[Table]:
    table = Table("Connect: lines of 100 bytes from a file into a topic, exactly once", METRICS)
    with running(bench.work, with_kafka=False) as (system,), ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=bench.work)))
        ours = Worker(
            system.address, str(folder), group_id="bench-connect", session_timeout_ms="10000"
        ).start()
        stack.callback(ours.stop)
        assert ours.process is not None
        engines = [Engine("Penstock Connect on Spark", ours.url, ours.process.pid)]
        try:
            connect_jars()
        except Unavailable as reason:
            table.notes.append(f"Kafka Connect was not measured: {reason}.")
        else:
            theirs = ApacheConnect(system.address, exactly_once_source_support="enabled")
            stack.enter_context(theirs)
            engines.append(Engine("Kafka Connect (Java)", theirs.url, theirs.pid))
        table.rows.append(_measured(bench, system, folder, engines))
        yield table
        if _has_postgres():
            yield from connect_databases.run(bench, system, ours, folder)


def _has_postgres() -> bool:
    """Debian keeps its server's programs out of the path."""
    found = shutil.which("initdb") or glob("/usr/lib/postgresql/*/bin/initdb")
    if not found:
        say("  databases are left out: Debian's package postgresql is not installed")
    return bool(found)


def _measured(bench: Bench, system: System, folder: Path, engines: list[Engine]) -> Row:
    total = QUICK_TOTAL if bench.effort.quick else TOTAL
    warm, source = _file(folder / "warm.txt", WARM_TOTAL), _file(folder / "lines.txt", total)
    for engine in engines:
        _sample(system, engine, warm, WARM_TOTAL)
    return bench.alternate("file", engines, lambda engine: _sample(system, engine, source, total), rounds=1)


def _file(path: Path, lines: int) -> Path:
    with path.open("w") as file:
        file.writelines(f"{_line(number).decode()}\n" for number in range(lines))
    return path


def _line(number: int) -> bytes:
    return b"%0*d" % (LINE_BYTES - 1, number)


def _sample(system: System, engine: Engine, file: Path, total: int) -> Sample:
    with topic(system, 1) as name:
        spent = family_cpu_seconds(engine.pid, 0)
        config = {"connector.class": SOURCE, "file": str(file), "topic": name}
        began = time.monotonic()
        status, told = _created(engine, name, config)
        assert status == 201, told
        last = _line(total - 1)
        seconds = await_last(system.address, name, total, lambda value: value == last) - began
        spent = family_cpu_seconds(engine.pid, 0) - spent
        asked(engine.url, "DELETE", f"/connectors/{name}")
    return {"k rows/s": total / seconds / 1e3, "CPU s per M rows": spent / total * 1e6}


def _created(engine: Engine, name: str, config: dict[str, str]) -> tuple[int, Any]:
    """Kafka Connect refuses with 409 while it rebalances."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        status, told = asked(engine.url, "PUT", f"/connectors/{name}/config", config)
        if status != 409 or time.monotonic() > deadline:
            return status, told
        time.sleep(0.1)
