"""The numbers of every streaming query of a session, for Prometheus.

`serve_metrics(spark, "127.0.0.1:9405")` listens to Spark's reports and answers `GET /metrics`. Streams, SQL
and Connect have numbers of their own (`host/metrics.py`); this is for queries that a person writes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from threading import Lock
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming import StreamingQueryListener

from penstock.metrics.pipelines import PipelineCounts, lag_samples, progress_samples
from penstock.metrics.process import process_samples
from penstock.metrics.text import Sample
from penstock.server.metrics.endpoint import MetricsEndpoint
from penstock.settings.listeners import parse_address
from penstock.spark.query_lag import lag_by_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

MOST_ENDED = 100
"""Queries that have ended and are still shown; the one that began first goes first."""


class PipelineListener(StreamingQueryListener):
    """Counts every batch that Spark reports. Spark calls it from a thread of its own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._names: dict[str, str] = {}
        self._counts: dict[str, PipelineCounts] = {}
        self._last: dict[str, dict[str, Any]] = {}
        self._up: dict[str, bool] = {}

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        self._begin(str(event.id), event.name)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        self.note(json.loads(event.progress.json))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Nothing changes: the last batch stays the last."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        with self._lock:
            self._up[str(event.id)] = False
            ended = [query for query, up in self._up.items() if not up]
            for query in ended[: max(0, len(ended) - MOST_ENDED)]:
                for known in (self._up, self._names, self._counts, self._last):
                    known.pop(query, None)

    def note(self, progress: dict[str, Any]) -> None:
        """One report of Spark's. A query that had nothing to do reports too, without a batch."""
        counts = self._begin(progress["id"], progress.get("name"))
        self._last[progress["id"]] = progress
        durations = progress.get("durationMs") or {}
        if "addBatch" in durations:
            seconds = float(durations.get("triggerExecution", 0)) / 1000
            counts.committed_rows(int(progress.get("numInputRows") or 0), seconds, time.time())

    def samples(self) -> Iterator[Sample]:
        with self._lock:
            known = [(query, counts, self._up[query]) for query, counts in self._counts.items()]
        for query, counts, up in known:
            yield from counts.samples(up=up)
            progress = self._last.get(query)
            if progress is not None:
                yield from progress_samples(counts.name, progress)
                yield from lag_samples(counts.name, lag_by_place(progress))

    def _begin(self, query: str, name: str | None) -> PipelineCounts:
        with self._lock:
            self._up[query] = True
            if query not in self._counts:
                self._names[query] = name or query
                self._counts[query] = PipelineCounts(self._names[query])
            return self._counts[query]


def serve_metrics(spark: SparkSession, listen: str) -> MetricsEndpoint:
    """`/metrics` of the queries of this session at HOST:PORT, from now until `close`; port 0 picks a free
    one, and `address` has it."""
    listener = PipelineListener()
    endpoint = MetricsEndpoint(
        *parse_address("listen", listen), lambda: (*process_samples(), *listener.samples())
    )
    spark.streams.addListener(listener)
    endpoint.start()
    return endpoint
