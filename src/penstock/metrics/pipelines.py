"""What a pipeline on Spark counts: batches, records, the phases of a batch, state, and how far behind it is.

Pure: a pipeline's own thread adds, or Spark's report of a batch is handed in as data (`progress`), and a
scrape reads. Names are ours: Spark has gauges of the same meanings, without counters and without lag.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from threading import Lock
from typing import Any, Final, NamedTuple

from penstock.metrics.histogram import WINDOW_SECONDS, Histogram, percentiles
from penstock.metrics.text import Family, Sample, summary

_P: Final = "penstock_pipeline_"
_ONE: Final = ("pipeline",)
UP: Final = Family(f"{_P}up", "gauge", "1 while a pipeline runs, 0 while it stands by or has ended.", _ONE)
BATCHES: Final = Family(f"{_P}batches_total", "counter", "Batches that were committed.", _ONE)
REPEATED: Final = Family(
    f"{_P}repeated_batches_total", "counter", "Attempts at a batch that failed and were repeated.", _ONE
)
RECORDS: Final = Family(f"{_P}input_records_total", "counter", "Records of committed batches.", _ONE)
SECONDS: Final = Family(f"{_P}batch_seconds", "summary", "Seconds that a batch with records took.", _ONE)
INPUT_RATE: Final = Family(
    f"{_P}input_records_per_second", "gauge", "Records that arrived a second, at the last batch.", _ONE
)
RATE: Final = Family(
    f"{_P}processed_records_per_second",
    "gauge",
    "Records a second that the last batch processed while it ran.",
    _ONE,
)
PHASES: Final = Family(
    f"{_P}phase_seconds",
    "gauge",
    "Seconds of each phase of the last batch, by Spark's names: addBatch is the work, latestOffset looks for "
    "records, walCommit and commitOffsets keep the checkpoint, triggerExecution is all of it.",
    (*_ONE, "phase"),
)
STATE_RECORDS: Final = Family(
    f"{_P}state_records", "gauge", "Rows of the state of an operator of Spark's.", (*_ONE, "operator")
)
STATE_BYTES: Final = Family(
    f"{_P}state_bytes",
    "gauge",
    "Bytes of state: of an operator of Spark's in memory, of a task of Streams in files.",
    (*_ONE, "operator"),
)
WATERMARK: Final = Family(
    f"{_P}watermark_timestamp_seconds", "gauge", "Spark's watermark, in seconds since 1970.", _ONE
)
LAST: Final = Family(
    f"{_P}last_batch_timestamp_seconds",
    "gauge",
    "When the last batch was committed, in seconds since 1970; 0 before the first.",
    _ONE,
)
LAG: Final = Family(
    f"{_P}lag_records",
    "gauge",
    "Offsets of a topic that are not processed yet.",
    (*_ONE, "topic", "partition"),
)
FAMILIES: Final = (
    UP, BATCHES, REPEATED, RECORDS, SECONDS, INPUT_RATE, RATE, PHASES, STATE_RECORDS, STATE_BYTES, WATERMARK,
    LAST, LAG,
)  # fmt: skip

QUANTILES: Final = ("0.5", "0.95", "0.99")


class Place(NamedTuple):
    """A partition of an input topic."""

    topic: str
    partition: int


class PipelineCounts:
    """The numbers of one pipeline. One thread adds; any thread reads."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.batches = 0
        self.repeated = 0
        self.last_batch_s = 0.0
        self.seconds = Histogram()
        self.longest_s = 0.0
        self._records: Counter[Place] = Counter()
        self._other_records = 0
        self._lock = Lock()
        self._rotated: float | None = None

    def committed(self, records: Mapping[Place, int], seconds: float, now: float) -> None:
        """A batch of so many records of each partition was committed at `now`, a time since 1970."""
        with self._lock:
            self._records.update(records)
        self._batch(seconds, now)

    def committed_rows(self, rows: int, seconds: float, now: float) -> None:
        """The same, where it is not known whose records they were."""
        self._other_records += rows
        self._batch(seconds, now)

    def _batch(self, seconds: float, now: float) -> None:
        if self._rotated is None or now - self._rotated >= WINDOW_SECONDS:
            self._rotated = now
            self.seconds.rotate()
        self.batches += 1
        self.seconds.record(seconds)
        self.longest_s = max(self.longest_s, seconds)
        self.last_batch_s = now

    @property
    def records_by_place(self) -> dict[Place, int]:
        with self._lock:
            return dict(self._records)

    @property
    def records(self) -> int:
        return sum(self.records_by_place.values()) + self._other_records

    def samples(self, *, up: bool) -> Iterator[Sample]:
        labels = {"pipeline": self.name}
        yield Sample(UP, labels, int(up))
        yield Sample(BATCHES, labels, self.batches)
        yield Sample(REPEATED, labels, self.repeated)
        yield Sample(RECORDS, labels, self.records)
        yield Sample(LAST, labels, self.last_batch_s)
        shares = [float(quantile) for quantile in QUANTILES]
        found = dict(zip(QUANTILES, percentiles(self.seconds.recent(), shares), strict=True))
        yield from summary(SECONDS, labels, self.seconds.count, self.seconds.sum_seconds, found)


def progress_samples(name: str, progress: Mapping[str, Any]) -> Iterator[Sample]:
    """What Spark's report of the last batch says (`StreamingQuery.lastProgress`)."""
    labels = {"pipeline": name}
    yield Sample(INPUT_RATE, labels, _number(progress.get("inputRowsPerSecond")))
    yield Sample(RATE, labels, _number(progress.get("processedRowsPerSecond")))
    for phase, milliseconds in sorted(dict(progress.get("durationMs") or {}).items()):
        yield Sample(PHASES, {**labels, "phase": phase}, _number(milliseconds) / 1000)
    if (text := (progress.get("eventTime") or {}).get("watermark")) is not None:
        yield Sample(WATERMARK, labels, datetime.fromisoformat(text).timestamp())
    for number, operator in enumerate(progress.get("stateOperators") or ()):
        which = {**labels, "operator": str(number)}
        yield Sample(STATE_RECORDS, which, _number(operator.get("numRowsTotal")))
        yield Sample(STATE_BYTES, which, _number(operator.get("memoryUsedBytes")))


def lag_samples(name: str, lags: Mapping[Place, int]) -> Iterator[Sample]:
    for place, lag in sorted(lags.items()):
        yield Sample(LAG, {"pipeline": name, "topic": place.topic, "partition": str(place.partition)}, lag)


def _number(value: Any) -> float:
    """Spark leaves numbers out, or writes NaN, where there was no batch before."""
    found = float(value or 0)
    return found if found == found else 0.0
