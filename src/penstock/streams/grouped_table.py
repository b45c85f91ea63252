"""Grouped tables: a changed row leaves the aggregate of its old group, then joins that of the new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.kernels.aggregates import TableAggregate, TableReduce, add_one, take_one, zero
from penstock.kernels.operation import Operation
from penstock.kernels.serdes import ChangeSerde, LongSerde, Serde
from penstock.plan.nodes import Sink, Source
from penstock.streams.graph import REPARTITION_SUFFIX, Graph
from penstock.streams.materialized import Materialized

if TYPE_CHECKING:
    from penstock.streams.ktable import KTable

K = TypeVar("K")
V = TypeVar("V")
VR = TypeVar("VR")

AGGREGATE = "KTABLE-AGGREGATE-"
REDUCE = "KTABLE-REDUCE-"


class KGroupedTable(Generic[K, V]):
    """Made by `KTable.group_by`."""

    def __init__(
        self,
        graph: Graph,
        node: str,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
        name: str | None,
    ) -> None:
        self._graph, self._node, self._name = graph, node, name
        self._key_serde, self._value_serde = key_serde, value_serde
        self._repartitioned: str | None = None

    def count(
        self, *, materialized: Materialized | str | None = None, name: str | None = None
    ) -> KTable[K, int]:
        """Rows of each group."""

        def operation(store: str, caching: bool) -> Operation:
            return TableAggregate(
                store=store, caching=caching, initializer=zero, adder=add_one, subtractor=take_one
            )

        return self._table(operation, AGGREGATE, materialized, name, LongSerde())

    def reduce(
        self,
        adder: Callable[[V, V], V],
        subtractor: Callable[[V, V], V],
        *,
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> KTable[K, V]:
        """Both functions are `(aggregate, value) → aggregate`."""

        def operation(store: str, caching: bool) -> Operation:
            return TableReduce(store=store, caching=caching, adder=adder, subtractor=subtractor)

        value = Materialized.of(materialized).value_serde or self._value_serde
        return self._table(operation, REDUCE, materialized, name, value)

    def aggregate(
        self,
        initializer: Callable[[], VR],
        adder: Callable[[K, V, VR], VR],
        subtractor: Callable[[K, V, VR], VR],
        *,
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> KTable[K, VR]:
        """Both functions are `(key, value, aggregate) → aggregate`."""

        def operation(store: str, caching: bool) -> Operation:
            return TableAggregate(
                store=store, caching=caching, initializer=initializer, adder=adder, subtractor=subtractor
            )

        return self._table(operation, AGGREGATE, materialized, name, None)

    def _table(
        self,
        operation: Callable[[str, bool], Operation],
        prefix: str,
        materialized: Materialized | str | None,
        name: str | None,
        value: Serde[Any] | None,
    ) -> KTable[Any, Any]:
        from penstock.streams.ktable import KTable

        graph, store = self._graph, Materialized.of(materialized)
        store_name = store.name or graph.new_store_name(AGGREGATE)
        sink = graph.named(name, "KSTREAM-SINK-", "-sink")
        source = graph.named(name, "KSTREAM-SOURCE-", "-source")
        node = graph.named(name, prefix)
        key = graph.key_serde(store.key_serde, self._key_serde)
        rows = ChangeSerde(graph.value_serde(self._value_serde))
        value = graph.value_serde(store.value_serde, value)
        if self._repartitioned is None or self._name is None:
            topic = (self._name or store_name) + REPARTITION_SUFFIX
            graph.add_internal_topic(topic)
            graph.add(sink, Sink(key, rows, topic), self._node)
            self._repartitioned = graph.add(source, Source(key, rows, (topic,)))
        graph.add_store(store.key_value_spec(store_name, key, value))
        graph.add(node, operation(store_name, store.caching), self._repartitioned)
        return KTable(graph, node, key, value, {self._repartitioned}, versioned=store.history is not None)
