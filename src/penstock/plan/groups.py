"""Sub-topologies: nodes that must run in one task because records or stores connect them. Also the numbers of
partitions that they need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.plan.errors import TopologyError
from penstock.plan.nodes import Node, Source
from penstock.plan.plan import Plan


@dataclass(frozen=True)
class Subtopology:
    id: int
    nodes: tuple[Node, ...]

    @property
    def is_global(self) -> bool:
        """It keeps a global table: it makes no tasks."""
        return any(isinstance(node.operation, Source) and node.operation.is_global for node in self.nodes)


def subtopologies(plan: Plan) -> tuple[Subtopology, ...]:
    """Numbered in the order in which their first nodes were made, as Kafka does."""
    root: dict[str, str] = {node.name: node.name for node in plan.nodes}

    def find(name: str) -> str:
        while root[name] != name:
            name = root[name]
        return name

    user_of: dict[str, str] = {}
    for node in plan.nodes:
        for other in node.parents:
            root[find(node.name)] = find(other)
        for store in node.stores:
            root[find(node.name)] = find(user_of.setdefault(store, node.name))
    groups: dict[str, list[Node]] = {}
    for node in plan.nodes:
        groups.setdefault(find(node.name), []).append(node)
    return tuple(Subtopology(number, tuple(nodes)) for number, nodes in enumerate(groups.values()))


def part(plan: Plan, group: Subtopology) -> Plan:
    """What one task of a sub-topology runs: its nodes, and the global tables, which every task reads."""
    shared = [node for other in subtopologies(plan) if other.is_global for node in other.nodes]
    nodes = tuple(dict.fromkeys([*group.nodes, *shared]))
    used = {store for node in nodes for store in node.stores}
    stores = tuple(store for store in plan.stores if store.name in used)
    return replace(plan, nodes=nodes, stores=stores)


def partition_counts(plan: Plan, topics: Mapping[str, int]) -> dict[str, int]:
    """Partitions of the repartition topics, given those of the others; refuses topics that cannot be
    joined.
    """
    known = {topic.name: topic.partitions for topic in plan.internal_topics}
    for group in plan.copartitioned:
        _copartition(plan, group, topics, known)
    for _ in plan.internal_topics:  # a topic may be filled from one that is itself not known yet
        for topic in plan.internal_topics:
            if known[topic.name] is None:
                known[topic.name] = _from_upstream(plan, topic.name, topics, known)
    return {name: count for name, count in known.items() if count is not None}


def _copartition(
    plan: Plan, group: tuple[str, ...], topics: Mapping[str, int], known: dict[str, int | None]
) -> None:
    members = [(topic, plan.by_name[name]) for name in group for topic in _topics(plan.by_name[name])]
    fixed: dict[str, int] = {}
    for topic, node in members:
        count = known[topic] if topic in known else topics.get(topic)
        if topic not in known and count is None:
            raise TopologyError(f"topic {topic} is not there", node.origin)
        if count is not None:
            fixed[topic] = count
    if len(set(fixed.values())) > 1:
        told = ", ".join(f"{topic} has {count}" for topic, count in fixed.items())
        origin = members[-1][1].origin
        raise TopologyError(
            f"topics that are joined need equally many partitions, but {told}: repartition() one of them",
            origin,
        )
    for topic, _ in members:
        if topic in known and known[topic] is None:
            known[topic] = next(iter(fixed.values()), None)


def _topics(node: Node) -> tuple[str, ...]:
    return node.operation.topics if isinstance(node.operation, Source) else ()


def _from_upstream(
    plan: Plan, topic: str, topics: Mapping[str, int], known: Mapping[str, int | None]
) -> int | None:
    """As many partitions as the largest topic that flows into it."""
    counts: list[int] = []
    waiting = [node.name for node, sink in plan.sinks if sink.topic == topic]
    seen = set(waiting)
    while waiting:
        node = plan.by_name[waiting.pop()]
        for source_topic in _topics(node):
            count = known[source_topic] if source_topic in known else topics.get(source_topic)
            if count is None:
                return None
            counts.append(count)
        waiting += [parent for parent in node.parents if parent not in seen]
        seen.update(node.parents)
    return max(counts, default=None)
