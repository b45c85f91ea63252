"""Where an application begins to read: where it has committed, or what its reset policy says."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.plan.plan import Plan
from penstock.protocol.topic_partition import TopicPartition
from penstock.spark.clusters import cluster_for
from penstock.spark.host.program import Program
from penstock.spark.host.restoring import marks_topic
from penstock.spark.progress import ProgressLost
from penstock.wire import offsets
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline

PATIENCE_SECONDS = 60.0


class NoOffset(RuntimeError):
    """A partition without a committed offset, where the policy is to have one."""


def input_places(program: Program) -> list[TopicPartition]:
    """All partitions that the application reads."""
    return [
        TopicPartition(topic, number)
        for topic, count in program.partitions.items()
        if topic not in program.internal and program.run_of(topic) is not None
        for number in range(count)
    ]


def starting_offsets(
    plan: Plan, program: Program, committed: Mapping[TopicPartition, int], reset: str
) -> dict[TopicPartition, int]:
    cluster, deadline = cluster_for(program.client), Deadline(PATIENCE_SECONDS)
    places = input_places(program)
    found = {place: committed[place] for place in places if place in committed}
    missing = [place for place in places if place not in committed]
    if not found:
        _check_new(program, cluster, deadline)
    by_policy: dict[str, list[TopicPartition]] = {"earliest": [], "latest": [], "none": []}
    for place in missing:
        own = next(source.reset for _, source in plan.sources if source.reads(place.topic))
        by_policy[own or reset].append(place)
    if by_policy["none"]:
        raise NoOffset(
            f"{by_policy['none'][0]} has no committed offset of group {program.application_id!r}, and "
            "auto.offset.reset is none: commit one, or set it to earliest or latest"
        )
    found |= offsets.earliest(cluster, by_policy["earliest"], deadline) if by_policy["earliest"] else {}
    latest = by_policy["latest"]
    found |= offsets.latest(cluster, latest, deadline, read_committed=True) if latest else {}
    return found


def _check_new(program: Program, cluster: Cluster, deadline: Deadline) -> None:
    """Offsets of a group that was away for long are forgotten; its state is not, and would count again."""
    marks = marks_topic(program.application_id)
    if marks not in program.partitions:
        return
    places = [TopicPartition(marks, number) for number in range(program.partitions[marks])]
    first, last = offsets.earliest(cluster, places, deadline), offsets.latest(cluster, places, deadline)
    if any(last[place] > first[place] for place in places):
        raise ProgressLost(
            f"application {program.application_id!r} has state and no committed offsets: brokers forget "
            "those of a group that was away for offsets.retention.minutes. Nobody knows where it was. Commit "
            "offsets for the group by hand, or reset the application to begin anew"
        )
