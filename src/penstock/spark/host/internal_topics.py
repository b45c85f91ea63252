"""The topics of an application: input topics are checked, internal ones are created.

Changelogs have Kafka Streams' names and settings. A repartition topic is created as well, with as many
partitions as there are shards behind it, which fixes their number. Its records go through Spark's shuffle and
are not written to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from penstock.client.admin import Admin
from penstock.client.errors import TopicExists
from penstock.kernels.store_specs import SessionSpec, StoreSpec, WindowSpec
from penstock.plan.errors import TopologyError
from penstock.plan.groups import partition_counts, subtopologies
from penstock.plan.plan import Plan
from penstock.spark.host.restoring import marks_topic
from penstock.spark.host.stages import Stage
from penstock.wire.cluster import Cluster, TopicInfo
from penstock.wire.deadline import Deadline
from penstock.wire.errors import DeadlineExceeded

PATIENCE_SECONDS: Final = 30.0
_DAY_MS: Final = 24 * 3_600_000
_SMALL_SEGMENT: Final = {"segment.bytes": str(16 << 20)}  # rewritten often: it shall be compacted often


class InternalTopic(NamedTuple):
    name: str
    partitions: int
    config: Mapping[str, str]


def source_topics(plan: Plan, cluster: Cluster, *, of_global_tables: bool = False) -> dict[str, int]:
    """Partitions of the topics that the plan reads and does not make itself; `TopologyError` if one is
    missing."""
    found: dict[str, int] = {}
    there = {name: len(info.partitions) for name, info in _all(cluster).items() if not info.internal}
    for node, source in plan.sources:
        if source.is_global != of_global_tables:
            continue
        for topic in source.topics:
            if topic in plan.internal_names:
                continue
            if topic not in there:
                raise TopologyError(
                    f"topic {topic} does not exist at {cluster.bootstrap_servers}: create it first",
                    node.origin,
                )
            found[topic] = there[topic]
        if source.pattern is not None:
            wanted = re.compile(source.pattern)
            found |= {name: count for name, count in there.items() if wanted.fullmatch(name)}
    return found


def internal_topics(
    plan: Plan, application_id: str, topics: Mapping[str, int], stages: Iterable[Stage]
) -> list[InternalTopic]:
    """What must be there before the first batch."""
    counts = partition_counts(plan, topics)
    found = [
        InternalTopic(
            plan.topic_name(name, application_id), count, {"cleanup.policy": "delete", "retention.ms": "-1"}
        )
        for name, count in counts.items()
    ]
    shards = {run.group: run.shards for stage in stages for run in stage.runs}
    for group, spec in _stores(plan):
        if spec.logging and group in shards:
            name = plan.changelog_name(spec.name, application_id)
            found.append(InternalTopic(name, shards[group], changelog_config(spec)))
    stateful = [run.shards for stage in stages for run in stage.runs if run.keeps_state]
    if stateful:
        config = {"cleanup.policy": "compact", **_SMALL_SEGMENT}
        found.append(InternalTopic(marks_topic(application_id), max(stateful), config))
    return found


def changelog_config(spec: StoreSpec) -> dict[str, str]:
    """Windows and sessions expire, so their changelogs may forget them a day after the store did."""
    config = {"cleanup.policy": "compact"}
    if isinstance(spec, WindowSpec | SessionSpec):
        config = {"cleanup.policy": "compact,delete", "retention.ms": str(spec.retention_ms + _DAY_MS)}
    return {**config, **dict(spec.topic_config)}


def create(
    servers: str,
    security: Mapping[str, str],
    cluster: Cluster,
    wanted: Iterable[InternalTopic],
    replication_factor: int | None,
) -> None:
    """Create what is missing, and refuse what has another number of partitions than it must have."""
    admin = Admin(servers, timeout_s=PATIENCE_SECONDS, settings=security)
    there = _all(cluster)
    for topic in wanted:
        if topic.name in there:
            _check(topic, len(there[topic.name].partitions))
            continue
        try:
            admin.create_topic(topic.name, topic.partitions, replication_factor, topic.config)
        except TopicExists:  # another instance was faster
            continue
    _wait(cluster, [topic.name for topic in wanted])


def _check(topic: InternalTopic, partitions: int) -> None:
    if partitions != topic.partitions:
        raise TopologyError(
            f"topic {topic.name} has {partitions} partitions, and the topics that are read ask for "
            f"{topic.partitions} now: state cannot be divided anew. Reset the application, or give it "
            "another application id"
        )


def _wait(cluster: Cluster, names: list[str]) -> None:
    deadline, attempt = Deadline(PATIENCE_SECONDS), 0
    while missing := set(names) - cluster.topics(names, deadline).keys() if names else set():
        if deadline.passed:
            raise DeadlineExceeded(f"topic {min(missing)} was created and cannot be seen")
        deadline.pause(attempt)
        attempt += 1


def _stores(plan: Plan) -> Iterable[tuple[int, StoreSpec]]:
    for group in subtopologies(plan):
        if not group.is_global:
            for name in dict.fromkeys(store for node in group.nodes for store in node.stores):
                yield group.id, plan.store_specs[name]


def _all(cluster: Cluster) -> dict[str, TopicInfo]:
    return cluster.topics(None, Deadline(PATIENCE_SECONDS))
