"""A plan: its nodes in the order in which they were made, its stores and internal topics, and the sources
that must be co-partitioned.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, Final

from penstock.kernels.expressions import ColumnExpression
from penstock.kernels.operation import Operation, TableOperation
from penstock.kernels.store_specs import StoreSpec
from penstock.plan.errors import TopologyError
from penstock.plan.nodes import InternalTopic, Node, Sink, Source

_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")
_LONGEST_NAME: Final = 249


@dataclass(frozen=True)
class Plan:
    nodes: tuple[Node, ...] = ()
    stores: tuple[StoreSpec, ...] = ()
    internal_topics: tuple[InternalTopic, ...] = ()
    copartitioned: tuple[
        tuple[str, ...], ...
    ] = ()  # names of sources whose topics must have equally many partitions

    @cached_property
    def by_name(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}

    @cached_property
    def store_specs(self) -> dict[str, StoreSpec]:
        return {store.name: store for store in self.stores}

    @cached_property
    def children(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {node.name: [] for node in self.nodes}
        for node in self.nodes:
            for parent in node.parents:
                found[parent].append(node.name)
        return {name: tuple(names) for name, names in found.items()}

    @property
    def sources(self) -> Iterator[tuple[Node, Source]]:
        return ((node, node.operation) for node in self.nodes if isinstance(node.operation, Source))

    @property
    def sinks(self) -> Iterator[tuple[Node, Sink]]:
        return ((node, node.operation) for node in self.nodes if isinstance(node.operation, Sink))

    @cached_property
    def sources_by_name(self) -> dict[str, Source]:
        return {node.name: source for node, source in self.sources}

    @cached_property
    def internal_names(self) -> frozenset[str]:
        return frozenset(topic.name for topic in self.internal_topics)

    @cached_property
    def used_stores(self) -> tuple[StoreSpec, ...]:
        """Stores that a node is connected with, in the order of the plan."""
        used = {name for node in self.nodes for name in node.stores}
        return tuple(store for store in self.stores if store.name in used)

    @property
    def column_expressions(self) -> list[tuple[Node, ColumnExpression]]:
        """Functions that only Spark can compute."""
        return [(node, part) for node in self.nodes for part in _parts(node.operation)]

    def with_nodes(self, change: Callable[[Node], Node]) -> Plan:
        return replace(self, nodes=tuple(change(node) for node in self.nodes))

    def topic_name(self, topic: str, application_id: str) -> str:
        """A topic's name in the cluster."""
        return f"{application_id}-{topic}" if topic in self.internal_names else topic

    def changelog_name(self, store: str, application_id: str) -> str:
        """The topic that keeps a store."""
        source = self.store_specs[store].source_topic
        return source if source is not None else f"{application_id}-{store}-changelog"

    def validate(self) -> Plan:
        """Refuse what no host could run; returns the plan itself."""
        if not any(True for _ in self.sources):
            raise TopologyError("the topology has no source: begin with stream(), table() or add_source()")
        for name, times in Counter(node.name for node in self.nodes).items():
            if times > 1:
                again = [node for node in self.nodes if node.name == name][-1]
                raise TopologyError(
                    f"two nodes are named {name}: give one of them another name", again.origin
                )
        for node in self.nodes:
            self._validate(node)
        self._validate_stores()
        self._validate_topics()
        return self

    def _validate(self, node: Node) -> None:
        if not _NAME.fullmatch(node.name) or len(node.name) > _LONGEST_NAME:
            raise TopologyError(
                f"{node.name!r} is no name for a node: use letters, digits, '.', '_' and '-'", node.origin
            )
        if bool(node.parents) == isinstance(node.operation, Source):
            raise TopologyError(f"{node.name} needs a parent, unless it is a source", node.origin)
        for parent in node.parents:
            if parent not in self.by_name:
                raise TopologyError(f"{node.name} has the unknown parent {parent}", node.origin)
            if isinstance(self.by_name[parent].operation, Sink):
                raise TopologyError(f"{node.name} cannot read from the sink {parent}", node.origin)
        for store in (*node.stores, *node.operation.own_stores()):
            if store not in self.store_specs:
                raise TopologyError(
                    f"{node.name} uses the store {store}, which is not there: add_state_store() makes it",
                    node.origin,
                )
        for table in node.operation.tables_read():
            if not isinstance(self.by_name[table].operation, TableOperation):
                raise TopologyError(f"{node.name} reads {table}, which is no table", node.origin)

    def _validate_stores(self) -> None:
        for name, times in Counter(store.name for store in self.stores).items():
            if times > 1:
                users = [node.origin for node in self.nodes if name in node.stores]
                raise TopologyError(f"two stores are named {name}", users[-1] if users else None)
            if not _NAME.fullmatch(name):
                raise TopologyError(f"{name!r} is no name for a store: use letters, digits, '.', '_' and '-'")

    def _validate_topics(self) -> None:
        seen: dict[str, Node] = {}
        for node, source in self.sources:
            for topic in source.topics:
                if topic in seen:
                    raise TopologyError(
                        f"topic {topic} is read by {seen[topic].name} and by {node.name}", node.origin
                    )
                seen[topic] = node


def _parts(operation: Operation) -> Iterator[ColumnExpression]:
    for field in fields(operation):
        value: Any = getattr(operation, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, ColumnExpression):
                yield part
            elif (
                is_dataclass(part)
                and hasattr(part, "function")
                and isinstance(part.function, ColumnExpression)
            ):
                yield part.function
