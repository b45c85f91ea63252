"""What a worker reports to Prometheus: Kafka Connect's numbers of the connectors and tasks that run in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from penstock.connect.worker.runs import Run
from penstock.connect.worker.source_run import SourceRun
from penstock.connect.worker.statuses import StatusBook
from penstock.metrics import connect as metrics
from penstock.metrics.text import Sample

UNASSIGNED: Final = "UNASSIGNED"


def worker_samples(
    runs: Mapping[str, Run], names: Sequence[str], statuses: StatusBook, gone: tuple[int, int]
) -> Iterator[Sample]:
    """`names` are all connectors; `gone` are attempts to start one, and successes, of runs that are over."""
    yield Sample(metrics.CONNECTORS, {}, len(runs))
    yield Sample(metrics.TASKS, {}, sum(len(run.task_configs) for run in runs.values()))
    starts = gone[0] + sum(run.starts for run in runs.values())
    started = gone[1] + sum(run.started for run in runs.values())
    yield Sample(metrics.STARTS, {}, starts)
    yield Sample(metrics.STARTED, {}, started)
    yield Sample(metrics.NOT_STARTED, {}, starts - started)
    for name in names:
        state = statuses.connector_state(name) or UNASSIGNED
        yield Sample(metrics.CONNECTOR_STATE, {"connector": name, "status": state.lower()}, 1)
        for number, text in sorted(statuses.task_states(name).items()):
            labels = {"connector": name, "task": str(number), "status": text.lower()}
            yield Sample(metrics.TASK_STATE, labels, 1)
    for name, run in runs.items():
        for number, counts in sorted(run.counts.items()):
            yield from counts.samples(name, number, source=isinstance(run, SourceRun))
