"""What one task of a source does in a batch: poll, convert, and emit rows with the offsets they lead to.

The offsets are rows too, of the offset topic, in Kafka Connect's own form: so they are committed in the
transaction of the records. A note tells the driver the same, and whether the task has failed. A task that
fails emits what came before the record that failed.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from penstock.clock import SystemClock
from penstock.connect.api.source import (
    EncodedPortion,
    Place,
    SourceOffsets,
    SourceRecord,
    SourceTask,
    TextPortion,
    canonical,
)
from penstock.connect.config.validation import Defaults
from penstock.connect.converters.json_text import json_text
from penstock.connect.data.text import java_text
from penstock.connect.errors import RetriableError
from penstock.connect.pipeline.conversion import Conversion
from penstock.connect.pipeline.rows import PlainRows, Row
from penstock.connect.pipeline.task_log import Line, TaskLog
from penstock.connect.pipeline.tolerance import Context, RecordFailed, Tolerance, error_headers, log_failure
from penstock.connect.plugins import load_plugins
from penstock.metrics.connect import BatchReport

ROWS_MAX: Final = 500_000
BYTES_MAX: Final = 256 << 20
SECONDS_MAX: Final = 2.0
"""A batch ends when it has so many rows, so many bytes of keys and values, or after so long."""
IN_TRANSACTION: Final = 8
"""So many times larger may a batch be that ends within a transaction of the source."""
ROWS_AT_ONCE: Final = 10_000


@dataclass(frozen=True)
class SourceBatch:
    """Everything that the tasks of a source need for one batch. It is pickled and sent to them."""

    connector: str
    class_name: str
    plugin_path: str
    configs: tuple[tuple[int, dict[str, str]], ...]
    """Number and settings of each task that runs."""
    offsets: tuple[tuple[Place, Place], ...]
    offset_topic: str
    """Empty if the driver keeps them elsewhere."""
    defaults: Defaults

    def rows(self, index: int) -> Iterator[list[Row] | PlainRows | bytes]:
        """Rows to write, then one note."""
        number, config = self.configs[index]
        with TaskLog() as log:
            work = _Work(self, number, config)
            yield from work.rows()
        yield work.note(log.lines)


class _Work:
    def __init__(self, batch: SourceBatch, number: int, config: dict[str, str]) -> None:
        self._batch, self._number, self._config = batch, number, config
        self._error, self._retry = "", ""
        self._records, self._size = 0, 0
        self._counts = BatchReport()
        self._began = 0.0
        self._topics: set[str] = set()
        self._reached: dict[str, tuple[Place, Place]] = {}

    def rows(self) -> Iterator[list[Row] | PlainRows]:
        try:
            yield from self._converted()
        except RecordFailed as failed:
            self._error = "".join(traceback.format_exception(failed))
        except RetriableError as error:
            self._retry = str(error)
            return  # the batch is aborted and tried again
        except Exception:  # a connector may raise anything: its task fails, and no other
            self._error = traceback.format_exc()
        if self._reached and self._batch.offset_topic:
            yield [self._offset_row(*each) for each in self._reached.values()]

    def note(self, logs: list[Line]) -> bytes:
        told = {
            "task": self._number,
            "counts": {**asdict(self._counts), "done": self._records},
            "offsets": list(self._reached.values()),
            "topics": sorted(self._topics),
            "error": self._error or None,
            "retry": self._retry or None,
            "logs": logs,
        }
        return json.dumps(told).encode()

    def _converted(self) -> Iterator[list[Row] | PlainRows]:
        tolerance = Tolerance.of(self._config)
        conversion = Conversion(self._config, self._batch.defaults, tolerance)
        forms = conversion.json_forms
        plugin = load_plugins(self._batch.plugin_path).find(self._batch.class_name)
        task: SourceTask = plugin.connector.TASK(self._config, SourceOffsets(self._batch.offsets))  # type: ignore[assignment,call-arg]
        self._began = SystemClock.monotonic()  # a process that is new has imported by now, which takes long
        try:
            while self._goes_on(task):
                text = task.poll_text() if conversion.keeps_text else None
                encoded = task.poll_encoded(forms) if forms else ()
                polled = () if text or encoded else task.poll()
                if text:
                    yield self._text(text)
                elif encoded:
                    yield from map(self._encoded, encoded)
                elif polled:
                    yield from self._portion(polled, conversion, tolerance)
                else:
                    return
                task.offsets = task.offsets.advanced(list(self._reached.values()))
        finally:
            task.close()

    def _goes_on(self, task: SourceTask) -> bool:
        """Whether the batch takes more. A transaction of the source that is cut has to be read again from
        its beginning: such a batch may be larger."""
        if task.in_transaction and self._config.get("transaction.boundary", "").lower() == "connector":
            return True
        times = IN_TRANSACTION if task.in_transaction else 1
        elapsed = SystemClock.monotonic() - self._began
        has_room = self._records < ROWS_MAX * times and self._size < BYTES_MAX * times
        return task.whole or (has_room and elapsed < SECONDS_MAX * times)

    def _text(self, portion: TextPortion) -> PlainRows:
        self._records += len(portion.values)
        self._counts.taken += len(portion.values)
        self._size += sum(map(len, portion.values))
        self._topics.add(portion.topic)
        self._reached[canonical(portion.partition)] = (portion.partition, portion.offset)
        return PlainRows(portion.topic, portion.values)

    def _encoded(self, portion: EncodedPortion) -> PlainRows:
        self._records += len(portion.values)
        self._size += sum(len(each or b"") for each in portion.values)
        self._topics.add(portion.topic)
        self._reached[canonical(portion.partition)] = (portion.partition, portion.offset)
        return PlainRows(portion.topic, portion.values, portion.keys)

    def _portion(
        self, polled: Iterable[SourceRecord], conversion: Conversion, tolerance: Tolerance
    ) -> Iterator[list[Row]]:
        gathered: list[Row] = []
        fatal: RecordFailed | None = None
        place, known = "", None
        for partition, offset, record in polled:
            if partition is not known:
                place, known = canonical(partition), partition
            if record is None:
                self._reached[place] = (partition, offset)
                continue
            self._counts.taken += 1
            try:
                row = conversion.outward(record)
            except RecordFailed as failed:
                self._counts.failed += 1
                if not tolerance.passes_over:
                    fatal = failed
                    break
                row = self._passed_over(failed, partition, record, tolerance)
            if row is not None:
                gathered.append(row)
                self._records += 1
                self._size += len(row.value or b"") + len(row.key or b"")
                self._topics.add(row.topic)
            self._reached[place] = (partition, offset)
            if len(gathered) >= ROWS_AT_ONCE:
                yield gathered
                gathered = []
        if gathered:
            yield gathered
        if fatal is not None:
            raise fatal

    def _passed_over(
        self, failed: RecordFailed, partition: Place, record: Any, tolerance: Tolerance
    ) -> Row | None:
        """The dead letter, if there is to be one."""
        context = Context(self._batch.connector, self._number)
        self._counts.logged += log_failure(tolerance, failed, context)
        self._counts.skipped += 1
        if not tolerance.dead_letters:
            return None
        self._counts.letters += 1
        headers = tuple(error_headers(failed, context)) if tolerance.with_headers else ()
        key, value = json.dumps(partition).encode(), java_text(record.value).encode()
        return Row(tolerance.dead_letters, None, key, value, headers, record.timestamp)

    def _offset_row(self, partition: Place, offset: Place) -> Row:
        key = offset_key(self._batch.connector, partition)
        return Row(self._batch.offset_topic, None, key, json_text(dict(offset)).encode())


def offset_key(connector: str, partition: Place) -> bytes:
    """The key of a source's offset, as Kafka Connect writes it."""
    return json_text([connector, dict(partition)]).encode()
