"""The numbers of an application that runs here, for `/metrics` of the process that runs it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from penstock.metrics import pipelines, streams
from penstock.metrics.pipelines import PipelineCounts, Place
from penstock.metrics.text import Sample
from penstock.spark.host.program import Program
from penstock.spark.host.source import TICK
from penstock.spark.query_lag import lag_by_place

if TYPE_CHECKING:
    from penstock.spark.host.host import Host


def host_samples(host: Host) -> Iterator[Sample]:
    """Blocking: Spark is asked for its report of the last batch, and the files of the state are looked at."""
    counts, progress = host.counts, _progress(host.query)
    lags = {place: lag for place, lag in lag_by_place(progress).items() if place.topic != TICK}
    yield from counts.samples(up=host.state == "running")
    if progress:
        yield from pipelines.progress_samples(counts.name, progress)
    yield from pipelines.lag_samples(counts.name, lags)
    tasks: dict[Place, str] = {}
    if host.program is not None:
        tasks = _tasks(host.program, counts)
        for task, size_bytes in _state_bytes(host.program.state):
            yield Sample(pipelines.STATE_BYTES, {"pipeline": counts.name, "operator": task}, size_bytes)
    yield from streams.samples(counts, host.state, tasks, lags)


def _progress(query: Any) -> dict[str, Any]:
    """Empty before the first batch, and where the JVM is gone."""
    try:
        return dict((None if query is None else query.lastProgress) or {})
    except (Py4JError, OSError):
        return {}


def _tasks(program: Program, counts: PipelineCounts) -> dict[Place, str]:
    """The task of each partition that gave records, as Kafka names it: sub-topology and partition."""
    runs = {place: program.run_of(place.topic) for place in counts.records_by_place}
    return {place: f"{run.group}_{place.partition}" for place, run in runs.items() if run is not None}


def _state_bytes(folder: Path) -> Iterator[tuple[str, int]]:
    if not folder.is_dir():
        return
    for task in sorted(folder.iterdir()):
        yield task.name, sum(_size(file) for file in task.iterdir()) if task.is_dir() else 0


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:  # a file of state is replaced by a newer one at any time
        return 0
