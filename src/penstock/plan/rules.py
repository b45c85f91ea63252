"""Rewrites of a plan, one small rule each. The two tuples list everything that happens to a plan.

`RULES` make a plan runnable and always apply. `OPTIMISATIONS` have Kafka's names and apply on request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from penstock.kernels.lookup_joins import GlobalTableJoin, StreamTableJoin
from penstock.kernels.operation import TableOperation
from penstock.kernels.stateless import RepartitionFilter
from penstock.kernels.stream_joins import StreamJoinSide
from penstock.kernels.tables import TableFilter, TableSource
from penstock.plan.errors import TopologyError
from penstock.plan.expressions import heads
from penstock.plan.nodes import Node, Sink, Source
from penstock.plan.plan import Plan

Rule = Callable[[Plan], Plan]


def merge_sources_of_one_topic(plan: Plan) -> Plan:
    """Streams of the same topics share one source; topics that overlap in part are refused."""
    main: dict[str, Node] = {}
    merged: dict[str, str] = {}
    for node, source in plan.sources:
        for topic in source.topics or (f"pattern {source.pattern}",):
            first = main.setdefault(topic, node)
            if first is node or first.name in merged:
                continue
            other = first.operation
            assert isinstance(other, Source)
            tables = {type(plan.by_name[child].operation) for child in plan.children[node.name]}
            if other.topics != source.topics or TableSource in tables:
                raise TopologyError(
                    f"topic {topic} is read by {first.name} and again by {node.name}: read it once",
                    node.origin,
                )
            merged[node.name] = first.name
    if not merged:
        return plan
    kept = [node for node in plan.nodes if node.name not in merged]
    nodes = tuple(replace(node, parents=_renamed(node.parents, merged)) for node in kept)
    groups = tuple(_renamed(group, merged) for group in plan.copartitioned)
    return replace(plan, nodes=nodes, copartitioned=groups)


def _renamed(names: Iterable[str], by: dict[str, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(by.get(name, name) for name in names))


def keep_null_keys_before_outer_joins(plan: Plan) -> Plan:
    """A repartition drops null keys, unless a left or outer join downstream can use them (KIP-962)."""

    def change(node: Node) -> Node:
        if not isinstance(node.operation, RepartitionFilter):
            return node
        keep = any(_takes_null_keys(plan.by_name[name]) for name in downstream(plan, node.name))
        return replace(node, operation=replace(node.operation, keep_null_keys=keep))

    return plan.with_nodes(change)


def _takes_null_keys(node: Node) -> bool:
    match node.operation:
        case StreamJoinSide(buffer=buffer):
            return buffer is not None
        case StreamTableJoin(left=left) | GlobalTableJoin(left=left):
            return left
        case _:
            return False


def downstream(plan: Plan, name: str) -> set[str]:
    """All nodes that records can reach from here, through repartition topics too."""
    readers = {topic: node.name for node, source in plan.sources for topic in source.topics}
    found: set[str] = set()
    waiting = [name]
    while waiting:
        node = plan.by_name[waiting.pop()]
        further = list(plan.children[node.name])
        if isinstance(node.operation, Sink) and node.operation.topic in plan.internal_names:
            further += [readers[node.operation.topic]]
        new = [child for child in further if child not in found]
        found.update(new)
        waiting += new
    return found


def give_tables_what_is_asked(plan: Plan) -> Plan:
    """Tables keep a store where their rows are read, and send old values where these are needed.

    In the order of the nodes, because what a filter can ask for depends on what its table keeps by then.
    """
    operations = {node.name: node.operation for node in plan.nodes}

    def ask_old(name: str, force: bool) -> bool:
        table = operations[name]
        assert isinstance(table, TableOperation), f"{name} is no table"
        if table.send_old:
            return True
        if not table.can_send_old(plan.by_name[name].parents, ask_old, force):
            return False
        operations[name] = replace(operations[name], **table.sending_old())
        return True

    def read(name: str) -> None:
        table = operations[name]
        assert isinstance(table, TableOperation), f"{name} is no table"
        if table.being_read():
            operations[name] = replace(table, **table.being_read())
        else:
            table.view_stores(plan.by_name[name].parents, read_stores)

    def read_stores(name: str) -> tuple[str, ...]:
        read(name)
        return ()

    for node in plan.nodes:
        for table, force in node.operation.wants_old(node.parents):
            if ask_old(table, force) and isinstance(node.operation, TableFilter):
                # It forwards them as soon as it gets them: they show it which changes need not go further.
                operations[node.name] = replace(operations[node.name], **node.operation.sending_old())
        for table in node.operation.tables_read():
            read(table)
    return plan.with_nodes(lambda node: replace(node, operation=operations[node.name]))


def connect_stores(plan: Plan) -> Plan:
    """Each node knows the stores that it reads or writes, also those behind the tables that it looks up."""

    def stores_of(name: str) -> tuple[str, ...]:
        node = plan.by_name[name]
        assert isinstance(node.operation, TableOperation)
        return node.operation.view_stores(node.parents, stores_of)

    def change(node: Node) -> Node:
        read = [store for table in node.operation.tables_read() for store in stores_of(table)]
        return replace(node, stores=tuple(dict.fromkeys([*node.stores, *node.operation.own_stores(), *read])))

    return plan.with_nodes(change)


RULES: Final[tuple[Rule, ...]] = (
    merge_sources_of_one_topic,
    keep_null_keys_before_outer_joins,
    give_tables_what_is_asked,
    connect_stores,
)


def reuse_source_topics(plan: Plan) -> Plan:
    """A table read from a topic needs no changelog: the topic is one."""
    topics = {}
    for node, source in plan.sources:
        for child in plan.children[node.name]:
            operation = plan.by_name[child].operation
            if isinstance(operation, TableSource) and len(source.topics) == 1:
                topics[operation.store] = source.topics[0]
    stores = (
        replace(store, source_topic=topics[store.name], logging=False) if store.name in topics else store
        for store in plan.stores
    )
    return replace(plan, stores=tuple(stores))


OPTIMISATIONS: Final[dict[str, Rule]] = {"reuse.ktable.source.topics": reuse_source_topics}


def rewrite(plan: Plan, optimisations: Iterable[str] = ()) -> Plan:
    """The plan as it will run."""
    for rule in RULES:
        plan = rule(plan)
    for name in optimisations:
        if name not in OPTIMISATIONS:
            raise TopologyError(f"there is no optimisation {name!r}; known: {', '.join(OPTIMISATIONS)}")
        plan = OPTIMISATIONS[name](plan)
    plan.validate()
    heads(plan)  # refuses expressions that no host can compute
    return plan
