"""What the DSL writes into while a topology is built: nodes with Kafka's names, stores, internal topics.

Names are numbered exactly as Kafka Streams numbers them, including numbers that it uses up and drops. So
nodes, changelog and repartition topics have the same names for the same topology.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from penstock.kernels.operation import Operation
from penstock.kernels.serdes import Serde
from penstock.kernels.stateless import RepartitionFilter
from penstock.kernels.store_specs import StoreSpec
from penstock.plan.errors import TopologyError, caller
from penstock.plan.nodes import InternalTopic, Node, Sink, Source
from penstock.plan.plan import Plan

REPARTITION_SUFFIX: Final = "-repartition"
_GENERATED: Final = re.compile(r"KSTREAM.*-[0-9]{10}")


class Graph:
    def __init__(self, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None) -> None:
        self._index = 0
        self._nodes: list[Node] = []
        self._stores: list[StoreSpec] = []
        self._topics: dict[str, InternalTopic] = {}
        self._copartitioned: list[tuple[str, ...]] = []
        self._default_key, self._default_value = key_serde, value_serde

    def plan(self) -> Plan:
        return Plan(
            tuple(self._nodes), tuple(self._stores), tuple(self._topics.values()), tuple(self._copartitioned)
        )

    def new_name(self, prefix: str) -> str:
        number, self._index = self._index, self._index + 1
        return f"{prefix}{number:010d}"

    def named(self, name: str | None, prefix: str, suffix: str = "") -> str:
        """The user's name with a suffix, else a generated one; a number is used up in either case."""
        generated = self.new_name(prefix)
        return generated if name is None else name + suffix

    def new_store_name(self, prefix: str) -> str:
        return self.new_name(f"{prefix}STATE-STORE-")

    def add(self, name: str, operation: Operation, *parents: str, stores: Iterable[str] = ()) -> str:
        self._nodes.append(Node(name, operation, tuple(parents), tuple(stores), caller()))
        return name

    def replace_operation(self, name: str, operation: Operation) -> None:
        """For operators that grow while the topology is written: branches."""
        at = next(index for index, node in enumerate(self._nodes) if node.name == name)
        node = self._nodes[at]
        self._nodes[at] = Node(name, operation, node.parents, node.stores, node.origin)

    def connect_store(self, name: str, stores: Iterable[str]) -> None:
        at = next(index for index, node in enumerate(self._nodes) if node.name == name)
        node = self._nodes[at]
        self._nodes[at] = Node(name, node.operation, node.parents, (*node.stores, *stores), node.origin)

    def add_store(self, spec: StoreSpec) -> str:
        if any(store.name == spec.name for store in self._stores):
            raise TopologyError(f"a store named {spec.name} is there already", caller())
        self._stores.append(spec)
        return spec.name

    def add_internal_topic(self, name: str, partitions: int | None = None) -> None:
        if name in self._topics:
            raise TopologyError(f"two repartition topics are named {name}: give one of them a name", caller())
        self._topics[name] = InternalTopic(name, partitions, caller())

    def copartition(self, sources: Iterable[str]) -> None:
        self._copartitioned.append(tuple(sorted(set(sources))))

    def key_serde(self, *given: Serde[Any] | None) -> Serde[Any]:
        return self._serde("key", self._default_key, given)

    def value_serde(self, *given: Serde[Any] | None) -> Serde[Any]:
        return self._serde("value", self._default_value, given)

    def _serde(
        self, which: str, default: Serde[Any] | None, given: Iterable[Serde[Any] | None]
    ) -> Serde[Any]:
        for serde in (*given, default):
            if serde is not None:
                return serde
        raise TopologyError(
            f"the {which}'s serde is not known here: give {which}_serde=, or a default to StreamsBuilder",
            caller(),
        )

    def repartition(
        self,
        parent: str,
        prefix: str,
        key_serde: Serde[Any],
        value_serde: Serde[Any],
        partitions: int | None = None,
        partitioner: Any = None,
        *,
        reuse: str | None = None,
    ) -> str:
        """Send a stream through a topic of its own, by key; returns the source on the other side."""
        topic = prefix if prefix.endswith(REPARTITION_SUFFIX) else prefix + REPARTITION_SUFFIX
        sink, keyed, source = map(self.new_name, ("KSTREAM-SINK-", "KSTREAM-FILTER-", "KSTREAM-SOURCE-"))
        if reuse is not None:
            return reuse
        if not _GENERATED.fullmatch(prefix):
            sink, keyed, source = (f"{topic}-{what}" for what in ("sink", "filter", "source"))
        self.add_internal_topic(topic, partitions)
        self.add(keyed, RepartitionFilter(), parent)
        self.add(sink, Sink(key_serde, value_serde, topic, partitioner=partitioner), keyed)
        return self.add(source, Source(key_serde, value_serde, (topic,)))
