"""What one task of a sink does in a batch: read its partitions, convert, put, flush, report."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final

from penstock.connect.api.sink import SinkTask
from penstock.connect.config.validation import Defaults
from penstock.connect.data.record import ConnectRecord
from penstock.connect.pipeline.conversion import Conversion
from penstock.connect.pipeline.rows import Row
from penstock.connect.pipeline.task_log import TaskLog
from penstock.connect.pipeline.tolerance import (
    Context,
    RecordFailed,
    Stage,
    Tolerance,
    error_headers,
    log_failure,
)
from penstock.connect.plugins import load_plugins
from penstock.metrics.connect import BatchReport
from penstock.metrics.tracing import Span, Tracing, parent_of, spans_of
from penstock.protocol.topic_partition import TopicPartition

PUT_AT_ONCE: Final = 2_000

Ranges = Mapping[TopicPartition, tuple[int, int]]
Read = Callable[[TopicPartition, int, int], Iterator[Row]]
"""The records of a partition from one offset to before another."""
Send = Callable[[list[Row]], None]
"""Writes dead letters; they are safe on return."""


@dataclass(frozen=True)
class SinkBatch:
    """Everything that the tasks of a sink need for one batch. It is pickled and sent to them."""

    connector: str
    class_name: str
    plugin_path: str
    configs: tuple[tuple[int, dict[str, str], dict[TopicPartition, tuple[int, int]]], ...]
    """Number, settings and offsets of each task that runs."""
    defaults: Defaults
    tracing: Tracing | None = None

    def run(self, index: int, read: Read, send: Send) -> bytes:
        number, config, ranges = self.configs[index]
        with TaskLog() as log:
            told = _Work(self, number, config, ranges).run(read, send)
        return json.dumps({**told, "logs": log.lines}).encode()


class _Work:
    def __init__(self, batch: SinkBatch, number: int, config: dict[str, str], ranges: Ranges) -> None:
        self._batch, self._number, self._config, self._ranges = batch, number, config, ranges
        self._tolerance = Tolerance.of(config)
        self._dead: list[Row] = []
        self._counts = BatchReport()
        self._spans: list[Span] = []

    def run(self, read: Read, send: Send) -> dict[str, Any]:
        told: dict[str, Any] = {"task": self._number, "ends": [], "error": None}
        try:
            self._write(read, send)
            told["ends"] = [[*place, end] for place, (_, end) in self._ranges.items()]
        except Exception:  # a connector may raise anything: its task fails, and no other
            told["error"] = traceback.format_exc()
        told["counts"] = asdict(self._counts)
        self._end_spans(told["error"] or "")
        return told

    def _write(self, read: Read, send: Send) -> None:
        conversion = Conversion(self._config, self._batch.defaults, self._tolerance)
        plugin = load_plugins(self._batch.plugin_path).find(self._batch.class_name)
        task: SinkTask = plugin.connector.TASK(self._config)  # type: ignore[assignment,call-arg]
        try:
            stored = task.stored_offsets(self._ranges.keys())
            gathered: list[tuple[ConnectRecord, Row]] = []
            for place, (start, end) in self._ranges.items():
                for row in read(place, max(start, stored.get(place, start)), end):
                    self._counts.taken += 1
                    self._begin_span(row)
                    record = self._converted(conversion, row)
                    if record is not None:
                        gathered.append((record, row))
                    if len(gathered) >= PUT_AT_ONCE:
                        self._put(task, gathered)
                        gathered = []
            if gathered:
                self._put(task, gathered)
            if self._dead:
                send(self._dead)
            task.flush({place: end for place, (_, end) in self._ranges.items()})
        finally:
            with suppress(Exception):  # what was flushed is safe, and what was not has failed already
                task.close()

    def _begin_span(self, row: Row) -> None:
        """A record that belongs to a trace has a span until the task has flushed."""
        tracing = self._batch.tracing
        if tracing is not None and (parent := parent_of(row.headers)) is not None:
            name = f"{self._batch.connector} put {row.topic}"
            span = spans_of(tracing).begin(
                name, "consumer", parent, destination__name=row.topic, operation__type="process"
            )
            self._spans.append(span)

    def _end_spans(self, error: str) -> None:
        for span in self._spans:
            span.end(error.strip().rpartition("\n")[2])
        if self._spans and self._batch.tracing is not None:
            spans_of(self._batch.tracing).flush()

    def _put(self, task: SinkTask, gathered: list[tuple[ConnectRecord, Row]]) -> None:
        name, records = type(task).__name__, [record for record, _ in gathered]

        def put() -> None:
            task.rejected.clear()  # of an attempt that failed
            task.put(records)

        try:
            self._tolerance.attempt(Stage.TASK_PUT, name, put)
        except RecordFailed as failed:
            raise failed.error from failed
        self._counts.done += len(records)
        rows = {id(record): row for record, row in gathered}
        for record, error in task.rejected:
            refused = RecordFailed(Stage.TASK_PUT, name, error)
            refused.__cause__ = error
            self._passed_over(refused, rows[id(record)])

    def _converted(self, conversion: Conversion, row: Row) -> ConnectRecord | None:
        try:
            return conversion.inward(row)
        except RecordFailed as failed:
            self._passed_over(failed, row)
            return None

    def _passed_over(self, failed: RecordFailed, row: Row) -> None:
        """A dead letter, or a line in the log; the failure again where nothing is tolerated."""
        context = Context(self._batch.connector, self._number, row.topic, row.partition, row.offset)
        self._counts.failed += 1
        self._counts.logged += log_failure(self._tolerance, failed, context)
        if not self._tolerance.passes_over:
            raise failed
        self._counts.skipped += 1
        if self._tolerance.dead_letters:
            self._counts.letters += 1
            self._dead.append(self._dead_letter(failed, context, row))

    def _dead_letter(self, failed: RecordFailed, context: Context, row: Row) -> Row:
        more = tuple(error_headers(failed, context)) if self._tolerance.with_headers else ()
        return row._replace(
            topic=self._tolerance.dead_letters, partition=None, headers=(*row.headers, *more), offset=None
        )
