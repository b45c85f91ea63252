"""What lowering writes into: nodes, stores and repartition topics of one query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.kernels.operation import Operation
from penstock.kernels.serdes import BytesSerde, Serde
from penstock.kernels.stateless import RepartitionFilter
from penstock.kernels.store_specs import StoreSpec
from penstock.plan.nodes import InternalTopic, Node, Sink, Source
from penstock.plan.plain_serde import PlainSerde
from penstock.plan.plan import Plan
from penstock.plan.row_schemas import ColumnSchema, Format

SerdeOf = Callable[[Format, Sequence[ColumnSchema], bool], Serde[Any]]
"""From a format, its columns and whether they are the key to what reads and writes them."""


@dataclass(frozen=True)
class Rows:
    """Where rows come out: of a stream as they are, of a table as changes."""

    node: str
    is_table: bool
    sources: frozenset[str] = frozenset()
    """Sources that the rows come from, for co-partitioning."""

    def at(self, node: str) -> Rows:
        return replace(self, node=node)


@dataclass
class Graph:
    serde_of: SerdeOf
    nodes: list[Node] = field(default_factory=list)
    stores: list[StoreSpec] = field(default_factory=list)
    topics: list[InternalTopic] = field(default_factory=list)
    copartitioned: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, name: str, operation: Operation, *parents: str) -> str:
        """Add a node; returns its name, made one that a plan may have and that no other node has."""
        name = re.sub(r"[^a-zA-Z0-9._-]", "_", name)
        known = {node.name for node in self.nodes}
        unique, number = name, 1
        while unique in known:
            number += 1
            unique = f"{name}-{number}"
        self.nodes.append(Node(unique, operation, parents))
        return unique

    def then(self, rows: Rows, name: str, operation: Operation) -> Rows:
        return rows.at(self.add(name, operation, rows.node))

    def add_store(self, spec: StoreSpec) -> str:
        known = {store.name for store in self.stores}
        name, number = spec.name, 1
        while name in known:
            number += 1
            name = f"{spec.name}-{number}"
        self.stores.append(replace(spec, name=name))
        return name

    def bytes_of(self, topic: str, name: str) -> str:
        """The node that reads a topic as bytes, for all sources of that topic."""
        for node in self.nodes:
            if isinstance(node.operation, Source) and node.operation.topics == (topic,):
                return node.name
        return self.add(f"{name}-Source", Source(BytesSerde(), BytesSerde(), (topic,)))

    def copartition(self, sources: Iterable[str]) -> None:
        names = tuple(sorted(set(sources)))
        if len(names) > 1:
            self.copartitioned.append(names)

    def repartition(self, rows: Rows, name: str, value: Serde[Any] | None = None) -> Rows:
        """Send rows through a topic of their own, by their key."""
        topic, number = f"{name}-repartition", 1
        while any(known.name == topic for known in self.topics):
            number += 1
            topic = f"{name}-{number}-repartition"
        self.topics.append(InternalTopic(topic))
        key, value = PlainSerde(), value or PlainSerde()
        node = rows.node
        if not rows.is_table:
            node = self.add(f"{topic}-filter", RepartitionFilter(), node)
        self.add(f"{topic}-sink", Sink(key, value, topic), node)
        source = self.add(f"{topic}-source", Source(key, value, (topic,)))
        return Rows(source, rows.is_table, frozenset({source}))

    def plan(self) -> Plan:
        return Plan(
            tuple(self.nodes), tuple(self.stores), tuple(self.topics), tuple(self.copartitioned)
        ).validate()
