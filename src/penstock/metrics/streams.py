"""Kafka Streams' own metrics, of an application that runs on Spark, with the JMX exporter's spelling.

`kafka.streams:type=stream-thread-metrics,thread-id=X` with the attribute `commit-total` is
`kafka_streams_stream_thread_metrics_commit_total{thread_id="X"}`. An instance has one thread here: a batch of
Spark is its commit, and a record's process latency is its share of the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from penstock.metrics.histogram import percentiles
from penstock.metrics.pipelines import PipelineCounts, Place
from penstock.metrics.text import Family, Sample

_CLIENT: Final = "kafka_streams_stream_metrics_"
_THREAD: Final = "kafka_streams_stream_thread_metrics_"
_TASK: Final = "kafka_streams_stream_task_metrics_"
_FETCH: Final = "kafka_consumer_consumer_fetch_manager_metrics_"
_OF_CLIENT: Final = ("client_id",)
_OF_THREAD: Final = ("thread_id",)
_OF_TASK: Final = ("thread_id", "task_id")
_OF_PARTITION: Final = ("client_id", "topic", "partition")

STATES: Final = {"created": 0, "standing by": 1, "running": 2, "closed": 4, "failed": 6}
"""The numbers of Kafka's states: CREATED, REBALANCING, RUNNING, NOT_RUNNING, ERROR."""
STATE: Final = Family(
    f"{_CLIENT}client_state",
    "gauge",
    "0 created, 1 standing by (Kafka: rebalancing), 2 running, 4 closed, 6 failed.",
    _OF_CLIENT,
)
ALIVE: Final = Family(f"{_CLIENT}alive_stream_threads", "gauge", "1 while the application runs.", _OF_CLIENT)
FAILED: Final = Family(f"{_CLIENT}failed_stream_threads", "gauge", "1 when it has failed.", _OF_CLIENT)
COMMITS: Final = Family(f"{_THREAD}commit_total", "counter", "Batches that were committed.", _OF_THREAD)
COMMIT_AVG: Final = Family(
    f"{_THREAD}commit_latency_avg", "gauge", "Milliseconds that half of the last batches took.", _OF_THREAD
)
COMMIT_MAX: Final = Family(
    f"{_THREAD}commit_latency_max", "gauge", "Milliseconds of the slowest batch since the start.", _OF_THREAD
)
PROCESSED: Final = Family(f"{_THREAD}process_total", "counter", "Records of committed batches.", _OF_THREAD)
LATENCY: Final = Family(
    f"{_THREAD}process_latency_avg", "gauge", "Milliseconds of a batch for each of its records.", _OF_THREAD
)
TASK_PROCESSED: Final = Family(
    f"{_TASK}process_total", "counter", "Records that a task took from input topics.", _OF_TASK
)
CONSUMED: Final = Family(
    f"{_FETCH}records_consumed_total", "counter", "Records that were processed.", _OF_PARTITION
)
LAG: Final = Family(f"{_FETCH}records_lag", "gauge", "Offsets that are not processed yet.", _OF_PARTITION)
FAMILIES: Final = (
    STATE, ALIVE, FAILED, COMMITS, COMMIT_AVG, COMMIT_MAX, PROCESSED, LATENCY, TASK_PROCESSED, CONSUMED, LAG,
)  # fmt: skip


def samples(
    counts: PipelineCounts, state: str, tasks: Mapping[Place, str], lags: Mapping[Place, int]
) -> Iterator[Sample]:
    """`tasks` are the ids of the tasks that take the records of each partition."""
    client = {"client_id": counts.name}
    thread = {"thread_id": f"{counts.name}-StreamThread-1"}
    yield Sample(STATE, client, STATES[state])
    yield Sample(ALIVE, client, int(state == "running"))
    yield Sample(FAILED, client, int(state == "failed"))
    yield Sample(COMMITS, thread, counts.batches)
    yield Sample(COMMIT_AVG, thread, percentiles(counts.seconds.recent(), [0.5])[0] * 1000)
    yield Sample(COMMIT_MAX, thread, counts.longest_s * 1000)
    yield Sample(PROCESSED, thread, counts.records)
    yield Sample(LATENCY, thread, counts.seconds.sum_seconds * 1000 / max(1, counts.records))
    records = counts.records_by_place
    by_task: dict[str, int] = {}
    for place, number in records.items():
        if place in tasks:
            by_task[tasks[place]] = by_task.get(tasks[place], 0) + number
    for task, number in sorted(by_task.items()):
        yield Sample(TASK_PROCESSED, {**thread, "task_id": task}, number)
    for place, number in sorted(records.items()):
        yield Sample(CONSUMED, {**client, "topic": place.topic, "partition": str(place.partition)}, number)
    for place, lag in sorted(lags.items()):
        yield Sample(LAG, {**client, "topic": place.topic, "partition": str(place.partition)}, lag)
