"""What `kafka-reassign-partitions` asks of a cluster: where replicas are, moves that go on, throttles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from penstock.cli.kafka.asking import Asker, Refused, check, refusal
from penstock.cli.kafka.assignment_files import Place, name_of
from penstock.cli.kafka.config_entries import BROKER, DELETE, SET, TOPIC, alter_configs
from penstock.cli.kafka.options import CommandFailed
from penstock.cli.kafka.topic_description import described_partitions

BROKER_THROTTLES: Final = (
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
)
TOPIC_THROTTLES: Final = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


class Move(NamedTuple):
    """A reassignment that goes on; `replicas` are all there are meanwhile."""

    replicas: list[int]
    adding: list[int]
    removing: list[int]


def moves(asker: Asker) -> dict[Place, Move]:
    from penstock.protocol.apis import Api

    fields = {"timeout": 60_000, "topics": None}
    answer = asker.any(Api.LIST_PARTITION_REASSIGNMENTS, fields, (0, 0))
    check(answer)
    return {
        (topic.name, one.partition_index): Move(
            list(one.replicas), list(one.adding_replicas), list(one.removing_replicas)
        )
        for topic in answer.topics
        for one in topic.partitions
    }


def current_replicas_of_topics(asker: Asker, topics: Sequence[str]) -> dict[Place, list[int]]:
    """The replicas of all partitions of the topics."""
    if not topics:
        return {}
    for name in topics:
        if name not in asker.topics(topics):
            raise Refused("UNKNOWN_TOPIC_OR_PARTITION", f"Topic {name} not found.")
    return {
        (name, one.partition_index): list(one.replica_nodes)
        for name, (_, partitions) in described_partitions(asker, topics).items()
        for one in partitions
    }


def current_replicas(
    asker: Asker, places: Collection[Place], *, missing_is_empty: bool = False
) -> dict[Place, list[int]]:
    """The replicas of these partitions. One that does not exist is refused, or has none."""
    topics = sorted({topic for topic, _ in places})
    if missing_is_empty:
        known = asker.topics(topics)
        topics = [topic for topic in topics if topic in known]
    found = current_replicas_of_topics(asker, topics) if topics else {}
    missing = [place for place in places if place not in found]
    if missing and not missing_is_empty:
        names = ", ".join(map(name_of, missing))
        raise Refused("UNKNOWN_TOPIC_OR_PARTITION", f"Unable to find partition: {names}")
    return {place: found.get(place, []) for place in places}


def directories(asker: Asker, assignment: Mapping[Place, Sequence[int]]) -> dict[tuple[int, str, int], str]:
    """The log directory of each replica, as its broker says."""
    from penstock.protocol.apis import Api

    found = {}
    for broker in sorted({broker for ids in assignment.values() for broker in ids}):
        answer = asker.broker(broker, Api.DESCRIBE_LOG_DIRS, {"topics": None}, (1, 4))
        for result in answer.results:
            for topic in result.topics:
                for one in topic.partitions:
                    found[broker, topic.name, one.partition_index] = result.log_dir
    return found


def proposed_replicas(
    asker: Asker, current: Mapping[Place, list[int]], brokers: Sequence[int], *, rack_aware: bool
) -> dict[Place, list[int]]:
    """As many replicas of each partition as it has, spread over the brokers and, if asked to, their racks."""
    from penstock.controller.image import BrokerState
    from penstock.controller.placement import place_replicas
    from penstock.protocol.errors import KafkaError

    nodes = {node_id: node for node_id, node in asker.nodes().items() if node_id in brokers}
    racks = {node_id: node.rack if rack_aware else None for node_id, node in nodes.items()}
    if None in racks.values() and any(racks.values()):
        raise CommandFailed(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information."
        )
    usable = [BrokerState(node_id, b"", 0, (), racks[node_id], fenced=False) for node_id in nodes]
    proposed: dict[Place, list[int]] = {}
    for topic in sorted({topic for topic, _ in current}):
        places = sorted(place for place in current if place[0] == topic)
        try:
            lists = place_replicas(len(places), len(current[places[0]]), usable)
        except KafkaError as error:
            raise CommandFailed(error.message or str(error)) from error
        proposed |= {place: list(ids) for place, ids in zip(places, lists, strict=True)}
    return proposed


def reassign(asker: Asker, targets: Mapping[Place, Sequence[int] | None]) -> dict[Place, Refused]:
    """Starts the moves, or cancels those whose target is None; what was refused is returned."""
    from penstock.protocol.apis import Api

    topics: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for (topic, partition), replicas in sorted(targets.items()):
        topics[topic].append({"partition_index": partition, "replicas": replicas})
    rows = [{"name": name, "partitions": partitions} for name, partitions in topics.items()]
    answer = asker.any(Api.ALTER_PARTITION_REASSIGNMENTS, {"timeout": 60_000, "topics": rows}, (0, 0))
    check(answer)
    return {
        (topic.name, one.partition_index): error
        for topic in answer.responses
        for one in topic.partitions
        if (error := refusal(one)) is not None
    }


def set_throttle(
    asker: Asker,
    ongoing: Mapping[Place, Move],
    targets: Mapping[Place, Sequence[int]],
    current: Mapping[Place, Sequence[int]],
    rate: int,
) -> None:
    """The copies of all partitions that move take no more than `rate` bytes a second of each broker."""
    sources = {place: set(move.replicas) - set(move.adding) for place, move in ongoing.items()}
    additions = {place: set(move.adding) for place, move in ongoing.items()}
    for place, replicas in targets.items():
        sources.setdefault(place, set(current[place]))
        additions[place] = set(replicas) - sources[place]
    for topic in {topic for topic, _ in sources}:
        lists = [_throttled(topic, side) for side in (sources, additions)]
        _alter(asker, TOPIC, topic, SET, dict(zip(TOPIC_THROTTLES, lists, strict=True)))
    for broker in sorted(set().union(*sources.values(), *additions.values())):
        _alter(asker, BROKER, str(broker), SET, {name: str(rate) for name in BROKER_THROTTLES[:2]})


def _throttled(topic: str, side: Mapping[Place, set[int]]) -> str:
    """`partition:broker` of each copy, as the setting of the topic wants it."""
    return ",".join(
        sorted(f"{index}:{broker}" for (name, index), ids in side.items() if name == topic for broker in ids)
    )


def clear_throttles(asker: Asker, brokers: Sequence[int], topics: Sequence[str]) -> None:
    for broker in brokers:
        _alter(asker, BROKER, str(broker), DELETE, dict.fromkeys(BROKER_THROTTLES))
    for topic in topics:
        _alter(asker, TOPIC, topic, DELETE, dict.fromkeys(TOPIC_THROTTLES))


def _alter(asker: Asker, kind: int, name: str, operation: int, values: Mapping[str, str | None]) -> None:
    changes = [
        {"name": setting, "config_operation": operation, "value": value} for setting, value in values.items()
    ]
    alter_configs(asker, kind, name, changes)
