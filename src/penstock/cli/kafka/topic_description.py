"""`kafka-topics --describe`: the lines of a topic and of its partitions, and which of them are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from penstock.cli.kafka.asking import Asker, check, id_text
from penstock.cli.kafka.config_entries import TOPIC, Entry, described_configs
from penstock.cli.kafka.options import Given
from penstock.cli.kafka.topic_options import REPORTS

NO_LEADER: Final = -1
PARTITIONS_PER_ANSWER: Final = 2000


def describe(asker: Asker, given: Given, names: Sequence[str]) -> None:
    if not names:
        return
    topics = described_partitions(
        asker, names, given.value("partition-size-limit-per-response") or PARTITIONS_PER_ANSWER
    )
    configs = described_configs(asker, TOPIC, names)
    live = set(asker.brokers())
    moves = _moves(asker, topics)
    wanted = [report for report in REPORTS if given.has(report)]
    for name, (topic_id, partitions) in topics.items():
        own = [entry for entry in configs[name] if not entry.is_default]
        if not wanted and (own or not given.has("topics-with-overrides")):
            first = partitions[0]
            factor = _replication_factor(first, moves.get((name, first.partition_index)))
            print(topic_line(name, topic_id, len(partitions), factor, own))
        if given.has("topics-with-overrides"):
            continue
        least = next(int(entry.value or 1) for entry in configs[name] if entry.name == "min.insync.replicas")
        for partition in partitions:
            move = moves.get((name, partition.partition_index))
            if not wanted or any(_reported(report, partition, move, least, live) for report in wanted):
                print(partition_line(name, partition, move))


def described_partitions(
    asker: Asker, names: Sequence[str], limit: int = PARTITIONS_PER_ANSWER
) -> dict[str, tuple[str, list[Any]]]:
    """Id and partitions of each topic, asked for in portions."""
    from penstock.protocol.apis import Api
    from penstock.protocol.messages import id_bytes

    found: dict[str, tuple[str, list[Any]]] = {}
    cursor = None
    while True:
        fields = {
            "topics": [{"name": name} for name in names],
            "response_partition_limit": limit,
            "cursor": cursor,
        }
        answer = asker.any(Api.DESCRIBE_TOPIC_PARTITIONS, fields, (0, 0))
        for topic in answer.topics:
            check(topic)
            found.setdefault(topic.name, (id_text(id_bytes(topic.topic_id)), []))[1].extend(topic.partitions)
        if answer.next_cursor is None:
            break
        at = answer.next_cursor
        cursor = {"topic_name": at.topic_name, "partition_index": at.partition_index}
    for _, partitions in found.values():
        partitions.sort(key=lambda partition: partition.partition_index)
    return dict(sorted(found.items()))


def _moves(asker: Asker, topics: Mapping[str, tuple[str, list[Any]]]) -> dict[tuple[str, int], Any]:
    """The partitions that are being moved."""
    from penstock.protocol.apis import Api

    fields = {
        "timeout": 60_000,
        "topics": [
            {"name": name, "partition_indexes": [partition.partition_index for partition in partitions]}
            for name, (_, partitions) in topics.items()
        ],
    }
    answer = asker.any(Api.LIST_PARTITION_REASSIGNMENTS, fields, (0, 0))
    check(answer)
    return {(topic.name, one.partition_index): one for topic in answer.topics for one in topic.partitions}


def _replication_factor(partition: Any, move: Any) -> int:
    """How many replicas there are when the move, if there is one, is done."""
    if move is None or not {*move.adding_replicas, *move.removing_replicas} & set(partition.replica_nodes):
        return len(partition.replica_nodes)
    return len(move.replicas) - len(move.adding_replicas)


def _reported(report: str, partition: Any, move: Any, least: int, live: set[int]) -> bool:
    if report == "under-replicated-partitions":
        return _replication_factor(partition, move) > len(partition.isr_nodes)
    if report == "under-min-isr-partitions":
        return partition.leader_id == NO_LEADER or len(partition.isr_nodes) < least
    if report == "at-min-isr-partitions":
        return len(partition.isr_nodes) == least
    return partition.leader_id not in live


def topic_line(name: str, topic_id: str, partitions: int, factor: int, own: Iterable[Entry]) -> str:
    configs = ",".join(f"{entry.name}={entry.value}" for entry in own)
    return (
        f"Topic: {name}\tTopicId: {topic_id}\tPartitionCount: {partitions}\t"
        f"ReplicationFactor: {factor}\tConfigs: {configs}"
    )


def partition_line(name: str, partition: Any, move: Any) -> str:
    leader = "none" if partition.leader_id == NO_LEADER else str(partition.leader_id)
    fields = [
        f"\tTopic: {name}",
        f"Partition: {partition.partition_index}",
        f"Leader: {leader}",
        f"Replicas: {_ids(partition.replica_nodes)}",
        f"Isr: {_ids(partition.isr_nodes)}",
    ]
    if move is not None:
        fields.append(f"Adding Replicas: {_ids(move.adding_replicas)}")
        fields.append(f"Removing Replicas: {_ids(move.removing_replicas)}")
    fields.append(f"Elr: {_ids(partition.eligible_leader_replicas)}")
    fields.append(f"LastKnownElr: {_ids(partition.last_known_elr)}")
    return "\t".join(fields)


def _ids(nodes: Iterable[int] | None) -> str:
    return "N/A" if nodes is None else ",".join(map(str, nodes))
