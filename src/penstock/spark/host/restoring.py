"""State from changelog topics, for a task whose files are missing.

Nothing is written to a changelog while a task restores: its batch is written when all tasks are done. A
transaction of an earlier batch may still be open, so the task waits until none is (`settled_ends`). Then
everything up to the end of the log counts.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

from penstock.kernels.cells import Cell, Entry
from penstock.kernels.record import UNKNOWN_TIME
from penstock.plan.plan import Plan
from penstock.plan.task import Snapshot
from penstock.protocol.topic_partition import TopicPartition
from penstock.security.client_settings import ClientSettings
from penstock.spark.arrow import full_schema
from penstock.spark.clusters import cluster_for
from penstock.spark.host.rows import milliseconds
from penstock.spark.limits import OffsetRange
from penstock.spark.options import ReadOptions, read_options
from penstock.spark.reading import read_range
from penstock.wire import offsets
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.errors import DeadlineExceeded

PATIENCE_SECONDS: Final = 120.0
MARKS: Final = "tasks"
"""`<application id>-tasks-changelog` keeps what no store's changelog says: marks, stream time,
punctuators."""


def marks_topic(application_id: str) -> str:
    return f"{application_id}-{MARKS}-changelog"


def marks_of(state: Snapshot) -> bytes:
    """The marks of a state, as the topic of marks keeps them."""
    times = [[*place, time] for place, time in sorted(state.partition_times.items())]
    kept = {"marks": state.marks, "stream_time": state.stream_time, "partition_times": times}
    return json.dumps(kept, sort_keys=True).encode()


def restore(
    plan: Plan,
    application_id: str,
    client: ClientSettings,
    task: str,
    shard: int,
    read_before: Mapping[TopicPartition, int],
) -> Snapshot:
    """The state of a task as the changelogs have it. `read_before` are the input offsets up to which it is
    done, for stores whose changelog is their input."""
    options = read_committed(client)
    cluster = cluster_for(client)
    changelogs = {
        spec.name: TopicPartition(plan.changelog_name(spec.name, application_id), shard)
        for spec in plan.used_stores
        if spec.logging or spec.source_topic
    }
    marks = TopicPartition(marks_topic(application_id), shard)
    places = [marks, *changelogs.values()]
    deadline = Deadline(PATIENCE_SECONDS)
    first, last = offsets.earliest(cluster, places, deadline), settled_ends(cluster, places, deadline)
    last |= {place: at for place, at in read_before.items() if place in last}
    stores = {
        name: list(_last_values(place, first[place], last[place], options).items())
        for name, place in changelogs.items()
    }
    return _with_marks(stores, _last_values(marks, first[marks], last[marks], options).get(task.encode()))


def settled_ends(
    cluster: Cluster, places: Collection[TopicPartition], deadline: Deadline
) -> dict[TopicPartition, int]:
    """Where the logs end, as soon as all transactions in them are decided."""
    wanted = offsets.latest(cluster, places, deadline)
    attempt = 0
    while True:
        stable = offsets.latest(cluster, places, deadline, read_committed=True)
        if all(stable[place] >= wanted[place] for place in places):
            return stable
        if deadline.passed:
            late = next(place for place in places if stable[place] < wanted[place])
            raise DeadlineExceeded(f"{late} has a transaction that did not end in {deadline.seconds:.0f} s")
        deadline.pause(attempt)
        attempt += 1


def _last_values(
    place: TopicPartition, first: int, last: int, options: ReadOptions
) -> dict[bytes, Cell | None]:
    found: dict[bytes, Cell | None] = {}
    if last <= first:
        return found
    schema = full_schema(include_headers=False)
    wanted = OffsetRange(*place, first, last)
    for batch in read_range(wanted, schema, options):
        keys, values = batch["key"].to_pylist(), batch["value"].to_pylist()
        times = milliseconds(batch).tolist()
        for key, value, time in zip(keys, values, times, strict=True):
            if value is not None:
                found[key] = Cell(value, time)
            else:
                found.pop(key, None)
    return found


def _with_marks(stores: dict[str, list[Entry]], marks: Cell | None) -> Snapshot:
    if marks is None:
        return Snapshot(stores, {}, UNKNOWN_TIME, {})
    known = json.loads(marks.value)
    times: Iterable[tuple[str, int, int]] = known["partition_times"]
    return Snapshot(
        stores,
        known["marks"],
        known["stream_time"],
        {(topic, partition): time for topic, partition, time in times},
    )


def read_committed(client: ClientSettings) -> ReadOptions:
    """How a topic is read that is read whole."""
    options = read_options(
        {
            "kafka.bootstrap.servers": client.bootstrap_servers,
            "subscribe": MARKS,
            "kafka.isolation.level": "read_committed",
            "failOnDataLoss": "false",
        },
        streaming=False,
    )
    return replace(options, client=client)
