"""What one task of a sink does in a batch: read its partitions, convert, put, flush, report."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
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
        self._records = 0

    def run(self, read: Read, send: Send) -> dict[str, Any]:
        told: dict[str, Any] = {"task": self._number, "ends": [], "error": None}
        try:
            self._write(read, send)
            told["ends"] = [[*place, end] for place, (_, end) in self._ranges.items()]
        except Exception:  # a connector may raise anything: its task fails, and no other
            told["error"] = traceback.format_exc()
        told["records"] = self._records
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

    def _put(self, task: SinkTask, gathered: list[tuple[ConnectRecord, Row]]) -> None:
        name, records = type(task).__name__, [record for record, _ in gathered]

        def put() -> None:
            task.rejected.clear()  # of an attempt that failed
            task.put(records)

        try:
            self._tolerance.attempt(Stage.TASK_PUT, name, put)
        except RecordFailed as failed:
            raise failed.error from failed
        self._records += len(records)
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
        log_failure(self._tolerance, failed, context)
        if not self._tolerance.passes_over:
            raise failed
        if self._tolerance.dead_letters:
            self._dead.append(self._dead_letter(failed, context, row))

    def _dead_letter(self, failed: RecordFailed, context: Context, row: Row) -> Row:
        more = tuple(error_headers(failed, context)) if self._tolerance.with_headers else ()
        return row._replace(
            topic=self._tolerance.dead_letters, partition=None, headers=(*row.headers, *more), offset=None
        )
