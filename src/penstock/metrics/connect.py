"""Kafka Connect's own metrics, with the JMX exporter's spelling.

`kafka.connect:type=sink-task-metrics,connector=C,task=0` with the attribute `sink-record-send-total` is
`kafka_connect_sink_task_metrics_sink_record_send_total{connector="C",task="0"}`. Averages and maxima that
Kafka computes over a window are of the last batches here; counts are of all time since the task began.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from penstock.metrics.histogram import Histogram, percentiles
from penstock.metrics.text import Family, Sample

_WORKER: Final = "kafka_connect_connect_worker_metrics_"
_TASK: Final = "kafka_connect_connector_task_metrics_"
_SOURCE: Final = "kafka_connect_source_task_metrics_"
_SINK: Final = "kafka_connect_sink_task_metrics_"
_ERRORS: Final = "kafka_connect_task_error_metrics_"
_OF_TASK: Final = ("connector", "task")

CONNECTORS: Final = Family(f"{_WORKER}connector_count", "gauge", "Connectors that run in this worker.")
TASKS: Final = Family(f"{_WORKER}task_count", "gauge", "Tasks that run in this worker.")
STARTS: Final = Family(
    f"{_WORKER}connector_startup_attempts_total", "counter", "Connectors that were started."
)
STARTED: Final = Family(
    f"{_WORKER}connector_startup_success_total", "counter", "Connectors that started and gave their tasks."
)
NOT_STARTED: Final = Family(
    f"{_WORKER}connector_startup_failure_total", "counter", "Attempts to start a connector that failed."
)
CONNECTOR_STATE: Final = Family(
    "kafka_connect_connector_metrics_status",
    "gauge",
    "1 for the state of a connector: running, paused, stopped, failed or unassigned.",
    ("connector", "status"),
)
TASK_STATE: Final = Family(
    f"{_TASK}status", "gauge", "1 for the state of a task: running, paused or failed.", (*_OF_TASK, "status")
)
BATCH_SIZE: Final = Family(f"{_TASK}batch_size_avg", "gauge", "Records of a batch, on average.", _OF_TASK)
BATCH_MAX: Final = Family(f"{_TASK}batch_size_max", "gauge", "Records of the largest batch.", _OF_TASK)
COMMIT_AVG: Final = Family(
    f"{_TASK}offset_commit_avg_time_ms", "gauge", "Milliseconds that half of the last batches took.", _OF_TASK
)
COMMIT_MAX: Final = Family(
    f"{_TASK}offset_commit_max_time_ms", "gauge", "Milliseconds of the slowest batch.", _OF_TASK
)
POLLED: Final = Family(
    f"{_SOURCE}source_record_poll_total",
    "counter",
    "Records that a source gave, before transforms.",
    _OF_TASK,
)
WRITTEN: Final = Family(
    f"{_SOURCE}source_record_write_total", "counter", "Records that were written and committed.", _OF_TASK
)
READ: Final = Family(
    f"{_SINK}sink_record_read_total", "counter", "Records that were read, before transforms.", _OF_TASK
)
SENT: Final = Family(
    f"{_SINK}sink_record_send_total", "counter", "Records that were given to the sink.", _OF_TASK
)
COMMITS: Final = Family(
    f"{_SINK}offset_commit_completion_total", "counter", "Commits of offsets, one a batch.", _OF_TASK
)
PARTITIONS: Final = Family(f"{_SINK}partition_count", "gauge", "Partitions of a task.", _OF_TASK)
FAILURES: Final = Family(
    f"{_ERRORS}total_record_failures", "counter", "Records that could not be processed.", _OF_TASK
)
SKIPPED: Final = Family(
    f"{_ERRORS}total_records_skipped", "counter", "Records that were passed over.", _OF_TASK
)
LOGGED: Final = Family(f"{_ERRORS}total_errors_logged", "counter", "Errors that were logged.", _OF_TASK)
LETTERS: Final = Family(
    f"{_ERRORS}deadletterqueue_produce_requests", "counter", "Dead letters that were written.", _OF_TASK
)
LAST_ERROR: Final = Family(
    f"{_ERRORS}last_error_timestamp", "gauge", "When a record or task last failed, in milliseconds.", _OF_TASK
)
FAMILIES: Final = (
    CONNECTORS, TASKS, STARTS, STARTED, NOT_STARTED, CONNECTOR_STATE, TASK_STATE, BATCH_SIZE, BATCH_MAX,
    COMMIT_AVG, COMMIT_MAX, POLLED, WRITTEN, READ, SENT, COMMITS, PARTITIONS, FAILURES, SKIPPED, LOGGED,
    LETTERS, LAST_ERROR,
)  # fmt: skip


@dataclass
class BatchReport:
    """What a task says of its part of a batch."""

    taken: int = 0
    """Records before transforms: polled by a source, read by a sink."""
    done: int = 0
    """Records written to topics, or given to the sink."""
    failed: int = 0
    skipped: int = 0
    logged: int = 0
    letters: int = 0

    @classmethod
    def of(cls, note: Mapping[str, object]) -> BatchReport:
        """From the note of a task; what it does not say is 0."""
        found = note.get("counts")
        return (
            cls(**{name: int(value) for name, value in found.items()}) if isinstance(found, dict) else cls()
        )


class TaskCounts:
    """The numbers of one task. The thread of its connector adds, scrapes read."""

    def __init__(self) -> None:
        self.total = BatchReport()
        self.batches = 0
        self.largest = 0
        self.seconds = Histogram()
        self.longest_s = 0.0
        self.partitions = 0
        self.last_error_ms = 0

    def add(self, report: BatchReport, seconds: float, now_ms: int, *, failed: bool) -> None:
        for name, value in vars(report).items():
            setattr(self.total, name, getattr(self.total, name) + value)
        if failed or report.failed:
            self.last_error_ms = now_ms
        if report.taken:
            self.batches += 1
            self.largest = max(self.largest, report.taken)
            self.seconds.record(seconds)
            self.longest_s = max(self.longest_s, seconds)

    def samples(self, connector: str, task: int, *, source: bool) -> Iterator[Sample]:
        labels, total = {"connector": connector, "task": str(task)}, self.total
        yield Sample(BATCH_SIZE, labels, total.taken / max(1, self.batches))
        yield Sample(BATCH_MAX, labels, self.largest)
        yield Sample(COMMIT_AVG, labels, percentiles(self.seconds.recent(), [0.5])[0] * 1000)
        yield Sample(COMMIT_MAX, labels, self.longest_s * 1000)
        if source:
            yield Sample(POLLED, labels, total.taken)
            yield Sample(WRITTEN, labels, total.done)
        else:
            yield Sample(READ, labels, total.taken)
            yield Sample(SENT, labels, total.done)
            yield Sample(COMMITS, labels, self.batches)
            yield Sample(PARTITIONS, labels, self.partitions)
        yield Sample(FAILURES, labels, total.failed)
        yield Sample(SKIPPED, labels, total.skipped)
        yield Sample(LOGGED, labels, total.logged)
        yield Sample(LETTERS, labels, total.letters)
        yield Sample(LAST_ERROR, labels, self.last_error_ms)
