"""What a flow counts, and how far behind it is: for /metrics, for `penstock mirror status` and for logs."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from penstock.metrics.text import Family, Sample
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.relaying import Relayed

MOST_SEEN: Final = 1000
LOOKS: Final = 16
"""Totals that are kept for the rates: one for each look at the ends, which is half a minute."""
_FLOW: Final = ("source", "target")
_PLACE: Final = (*_FLOW, "topic", "partition")
UP: Final = Family("penstock_mirror_up", "gauge", "1 while a flow is copying, 0 otherwise.", _FLOW)
RECORDS: Final = Family(
    "penstock_mirror_records_total", "counter", "Records that were copied and committed.", _PLACE
)
BYTES: Final = Family(
    "penstock_mirror_bytes_total",
    "counter",
    "Bytes of the copied batches, as the source stored them.",
    _PLACE,
)
MISSED: Final = Family(
    "penstock_mirror_missed_offsets_total",
    "counter",
    "Offsets that the source's retention deleted before they were copied.",
    _PLACE,
)
LAG: Final = Family(
    "penstock_mirror_lag_records", "gauge", "Offsets of the source that are not copied yet.", _PLACE
)
LAG_SECONDS: Final = Family(
    "penstock_mirror_lag_seconds",
    "gauge",
    "Seconds since the oldest end of the source was seen that is not copied yet; 0 when all is.",
    _PLACE,
)
LATENCY: Final = Family(
    "penstock_mirror_replication_latency_seconds",
    "gauge",
    "Seconds from the time of the newest record of the last batch until it was committed on the target.",
    _FLOW,
)
BATCHES: Final = Family("penstock_mirror_batches_total", "counter", "Transactions committed.", _FLOW)
ERRORS: Final = Family(
    "penstock_mirror_errors_total", "counter", "Failures, by what was being done.", (*_FLOW, "duty")
)
CHECKPOINTS: Final = Family(
    "penstock_mirror_checkpoints_total", "counter", "Checkpoints of groups that were written.", _FLOW
)
FAMILIES: Final = (UP, RECORDS, BYTES, MISSED, LAG, LAG_SECONDS, LATENCY, BATCHES, ERRORS, CHECKPOINTS)


class Lag(NamedTuple):
    records: int
    seconds: float


class Rate(NamedTuple):
    """Of about the last half minute."""

    records: float
    bytes: float


class _Place:
    __slots__ = ("bytes", "end", "missed", "position", "records", "seen", "totals")

    def __init__(self) -> None:
        self.records = self.bytes = self.missed = 0
        self.totals: deque[tuple[float, int, int]] = deque(maxlen=LOOKS)
        """When the ends were looked at, and the records and bytes that were copied until then."""
        self.position = self.end = 0
        self.seen: deque[tuple[int, float]] = deque(maxlen=MOST_SEEN)
        """Ends of the source that are not copied yet, and when each was first seen."""


def _settle(place: _Place) -> None:
    while place.seen and place.seen[0][0] <= place.position:
        place.seen.popleft()


def _rate(place: _Place) -> Rate:
    if len(place.totals) < 2 or place.totals[-1][0] <= place.totals[0][0]:
        return Rate(0.0, 0.0)
    (began, records, size), (ended, more_records, more_size) = place.totals[0], place.totals[-1]
    seconds = ended - began
    return Rate((more_records - records) / seconds, (more_size - size) / seconds)


class FlowCounts:
    """The numbers of one flow. The thread of the copy writes, that of the duties, and scrapes read."""

    def __init__(self, source: str, target: str) -> None:
        self._labels = {"source": source, "target": target}
        self._lock = threading.Lock()
        self._places: dict[TopicPartition, _Place] = {}
        self._errors: dict[str, int] = {}
        self.copying = False
        self.batches = 0
        self.checkpoints = 0
        self.latency_seconds = 0.0

    def copied(self, done: Sequence[Relayed]) -> None:
        now = time.time()
        with self._lock:
            self.batches += 1
            for each in done:
                place = self._places.setdefault(each.source, _Place())
                place.records += each.records
                place.bytes += each.size_bytes
                place.missed += each.missed
                place.position = each.next_offset
                _settle(place)
            times = [each.last_timestamp_ms for each in done if each.last_timestamp_ms >= 0]
            if times:
                self.latency_seconds = max(0.0, now - max(times) / 1000)

    def positions(self, known: dict[TopicPartition, int]) -> None:
        """Where a run begins."""
        with self._lock:
            for at, offset in known.items():
                self._places.setdefault(at, _Place()).position = offset

    def ends(self, ends: dict[TopicPartition, int]) -> None:
        """Where the partitions of the source end now; those that are not there any more are forgotten."""
        now = time.time()
        with self._lock:
            for at in self._places.keys() - ends.keys():
                del self._places[at]
            for at, end in ends.items():
                place = self._places.setdefault(at, _Place())
                if end > max(place.end, place.position) or (end > place.position and not place.seen):
                    place.seen.append((end, now))
                place.end = end
                place.totals.append((now, place.records, place.bytes))
                _settle(place)

    def failed(self, duty: str) -> None:
        with self._lock:
            self._errors[duty] = self._errors.get(duty, 0) + 1

    def lags(self) -> dict[TopicPartition, Lag]:
        now = time.time()
        with self._lock:
            return {
                at: Lag(
                    max(0, place.end - place.position),
                    now - place.seen[0][1] if place.seen else 0.0,
                )
                for at, place in self._places.items()
            }

    def rates(self) -> dict[TopicPartition, Rate]:
        """Copied a second, by partition."""
        with self._lock:
            return {at: _rate(place) for at, place in self._places.items()}

    def errors(self) -> dict[str, int]:
        """Failures, by what was being done."""
        with self._lock:
            return dict(self._errors)

    def samples(self) -> Iterator[Sample]:
        lags = self.lags()
        with self._lock:
            places = [(at, place.records, place.bytes, place.missed) for at, place in self._places.items()]
        errors = self.errors()
        yield Sample(UP, self._labels, int(self.copying))
        yield Sample(BATCHES, self._labels, self.batches)
        yield Sample(CHECKPOINTS, self._labels, self.checkpoints)
        yield Sample(LATENCY, self._labels, self.latency_seconds)
        for duty, count in sorted(errors.items()):
            yield Sample(ERRORS, {**self._labels, "duty": duty}, count)
        for at, records, size_bytes, missed in sorted(places):
            labels = {**self._labels, "topic": at.topic, "partition": str(at.partition)}
            yield Sample(RECORDS, labels, records)
            yield Sample(BYTES, labels, size_bytes)
            yield Sample(MISSED, labels, missed)
            lag = lags.get(at, Lag(0, 0.0))
            yield Sample(LAG, labels, lag.records)
            yield Sample(LAG_SECONDS, labels, lag.seconds)
