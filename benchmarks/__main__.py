"""`python -m benchmarks`: choose sections, run them, print their tables, keep the samples as JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from benchmarks.bench import FULL, QUICK, Bench, Effort, say
from benchmarks.generator import Generator, NoCompiler
from benchmarks.report import markdown
from benchmarks.results import Table
from benchmarks.sections import (
    ceiling,
    client,
    cluster_partitions,
    compaction,
    connect,
    connections,
    failover,
    footprint,
    java_clients,
    latency,
    mirror,
    partitions,
    registry,
    replicated,
    rest,
    spark_reading,
    spark_writing,
    sql,
    streams,
    throughput,
    tls,
    transactions,
)
from benchmarks.systems import KAFKA, kafka_missing

Section = Callable[[Bench], Iterator[Table]]

SECTIONS: Final[dict[str, Section]] = {
    "ceiling": ceiling.run,
    "produce": throughput.produce,
    "consume": throughput.consume,
    "latency": latency.run,
    "transactions": transactions.run,
    "compaction": compaction.run,
    "java": java_clients.run,
    "client": client.run,
    "footprint": footprint.run,
    "partitions": partitions.run,
    "connections": connections.run,
    "tls": tls.run,
    "spark-reading": spark_reading.run,
    "spark-decoding": spark_reading.decoding,
    "spark-writing": spark_writing.run,
    "spark-latency": spark_writing.latency,
    "streams": streams.run,
    "sql": sql.run,
    "connect": connect.run,
    "mirror": mirror.run,
    "rest": rest.run,
    "registry": registry.run,
    "failover": failover.run,
    "replicated": replicated.run,
    "cluster-partitions": cluster_partitions.run,
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options().parse_args(arguments)
    names = options.only.split(",") if options.only else list(SECTIONS)
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        print(f"There is no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}.", file=sys.stderr)
        return 2
    missing = "it was not wanted" if options.alone else kafka_missing()
    if missing:
        say(f"Penstock alone, without {KAFKA}: {missing}.")
    with tempfile.TemporaryDirectory(prefix="penstock-bench-", dir=options.data) as work:
        try:
            bench = Bench(Path(work), Generator(Path(work)), _effort(options), missing is None)
        except NoCompiler as reason:
            print(f"Nothing was measured. {reason}", file=sys.stderr)
            return 1
        print(_conditions(bench, Path(work)))
        tables = _run(bench, names)
    if options.json:
        Path(options.json).write_text(json.dumps(_as_json(bench, tables), indent=1) + "\n")
    return 0


def _run(bench: Bench, names: list[str]) -> list[Table]:
    tables = []
    for name in names:
        say(f"{name} …")
        for table in SECTIONS[name](bench):
            tables.append(table)
            print(markdown(table), flush=True)
    return tables


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", metavar="SECTION,…", help=f"of {', '.join(SECTIONS)}")
    parser.add_argument("--quick", action="store_true", help="one round of short runs: a look, not a result")
    parser.add_argument("--rounds", type=int, metavar="N", help="samples of each system for each case")
    parser.add_argument("--alone", action="store_true", help="measure Penstock without Apache Kafka")
    parser.add_argument(
        "--data", metavar="DIR", help="where both keep their data, instead of the temporary directory"
    )
    parser.add_argument("--json", metavar="FILE", help="write every sample there")
    return parser


def _effort(options: argparse.Namespace) -> Effort:
    effort = QUICK if options.quick else FULL
    return replace(effort, rounds=options.rounds) if options.rounds else effort


def _conditions(bench: Bench, work: Path) -> str:
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return (
        f"{os.cpu_count()} cores, {memory_gb:.0f} GB of memory, Linux {platform.release()}, Python "
        f"{platform.python_version()}; data on {_file_system(work)}, within the page cache; load average "
        f"{os.getloadavg()[0]:.1f} at the start; medians of {bench.effort.rounds}, taken in turns; "
        f"ratios are Penstock / the other.\n"
    )


def _file_system(path: Path) -> str:
    """The type of the file system that holds `path`."""
    found = ("", "an unknown file system")
    for line in Path("/proc/mounts").read_text().splitlines():
        _, mount, kind, *_ = line.split()
        if path.resolve().is_relative_to(mount) and len(mount) > len(found[0]):
            found = (mount, kind)
    return found[1]


def _as_json(bench: Bench, tables: list[Table]) -> dict[str, Any]:
    return {
        "machine": {
            "cores": os.cpu_count(),
            "release": platform.release(),
            "python": platform.python_version(),
        },
        "rounds": bench.effort.rounds,
        "quick": bench.effort.quick,
        "tables": [table.as_json() for table in tables],
    }


if __name__ == "__main__":
    sys.exit(main())
