"""Grouped streams: counted, reduced and aggregated, with windows (`windowed.py`) or without, alone or
cogrouped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from penstock.kernels.aggregates import StreamAggregate, StreamReduce, add_one, zero
from penstock.kernels.operation import Operation
from penstock.kernels.serdes import LongSerde, Serde
from penstock.kernels.windows import (
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)
from penstock.streams.graph import Graph
from penstock.streams.materialized import Materialized

if TYPE_CHECKING:
    from penstock.streams.cogrouped import CogroupedKStream
    from penstock.streams.ktable import KTable
    from penstock.streams.windowed import SessionWindowedKStream, TimeWindowedKStream

K = TypeVar("K")
V = TypeVar("V")
VR = TypeVar("VR")

AGGREGATE = "KSTREAM-AGGREGATE-"
REDUCE = "KSTREAM-REDUCE-"


class KGroupedStream(Generic[K, V]):
    """A stream by its key, made by `group_by_key` and `group_by`. Records without key or value are no part
    of it.
    """

    def __init__(
        self,
        graph: Graph,
        node: str,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
        sources: Iterable[str],
        *,
        rekeyed: bool,
        name: str | None,
    ) -> None:
        self.graph, self.node, self.name, self.rekeyed = graph, node, name, rekeyed
        self._key_serde, self._value_serde = key_serde, value_serde
        self.sources = frozenset(sources)
        self._repartitioned: str | None = None

    def key_serde(self, store: Materialized) -> Serde[Any]:
        return self.graph.key_serde(store.key_serde, self._key_serde)

    def value_serde(self, store: Materialized) -> Serde[Any]:
        return self.graph.value_serde(store.value_serde, self._value_serde)

    def store_name(
        self, materialized: Materialized | str | None, prefix: str, *, two_numbers: bool = False
    ) -> str:
        """The user's name, else a generated one. For most counts with unnamed settings Kafka uses up
        `two_numbers`.
        """
        store = Materialized.of(materialized)
        if store.name is not None:
            return store.name
        if two_numbers and materialized is not None:
            self.graph.new_store_name(prefix)
        return self.graph.new_store_name(prefix)

    def parent(self, store: Materialized, store_name: str) -> tuple[str, frozenset[str]]:
        """Where the records are by key: here, or behind a repartition topic; and the sources they come
        from.
        """
        if not self.rekeyed:
            return self.node, self.sources
        key, value = self.key_serde(store), self.graph.value_serde(self._value_serde)
        reuse = self._repartitioned if self.name is not None else None
        source = self.graph.repartition(self.node, self.name or store_name, key, value, reuse=reuse)
        self._repartitioned = source
        return source, frozenset({source})

    def count(
        self, *, materialized: Materialized | str | None = None, name: str | None = None
    ) -> KTable[K, int]:
        """Records of each key."""
        store = Materialized.of(materialized)
        store_name = self.store_name(materialized, AGGREGATE, two_numbers=True)
        operation = StreamAggregate(
            store=store_name, caching=store.caching, initializer=zero, aggregator=add_one
        )
        return self._table(operation, AGGREGATE, name, store, store_name, store.value_serde or LongSerde())

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        *,
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> KTable[K, V]:
        """Values of each key made one, `(aggregate, value) → aggregate`; the first is the aggregate."""
        store = Materialized.of(materialized)
        store_name = self.store_name(materialized, REDUCE)
        operation = StreamReduce(store=store_name, caching=store.caching, reducer=reducer)
        return self._table(operation, REDUCE, name, store, store_name, self.value_serde(store))

    def aggregate(
        self,
        initializer: Callable[[], VR],
        aggregator: Callable[[K, V, VR], VR],
        *,
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> KTable[K, VR]:
        """Values of each key gathered, `(key, value, aggregate) → aggregate`."""
        store = Materialized.of(materialized)
        store_name = self.store_name(materialized, AGGREGATE)
        operation = StreamAggregate(
            store=store_name, caching=store.caching, initializer=initializer, aggregator=aggregator
        )
        value = self.graph.value_serde(store.value_serde)
        return self._table(operation, AGGREGATE, name, store, store_name, value)

    def _table(
        self,
        operation: Operation,
        prefix: str,
        name: str | None,
        store: Materialized,
        store_name: str,
        value: Serde[Any],
    ) -> KTable[Any, Any]:
        from penstock.streams.ktable import KTable

        node = self.graph.named(name, prefix)
        parent, sources = self.parent(store, store_name)
        key = self.key_serde(store)
        self.graph.add_store(store.key_value_spec(store_name, key, value))
        self.graph.add(node, operation, parent)
        return KTable(self.graph, node, key, value, sources, versioned=store.history is not None)

    @overload
    def windowed_by(self, windows: SessionWindows) -> SessionWindowedKStream[K, V]: ...
    @overload
    def windowed_by(
        self, windows: TimeWindows | UnlimitedWindows | SlidingWindows
    ) -> TimeWindowedKStream[K, V]: ...
    def windowed_by(self, windows: Any) -> Any:
        """Group by window, too."""
        from penstock.streams.windowed import SessionWindowedKStream, TimeWindowedKStream

        if windows.merge:
            return SessionWindowedKStream(self, windows)
        return TimeWindowedKStream(self, windows)

    def cogroup(self, aggregator: Callable[[K, V, VR], VR]) -> CogroupedKStream[K, VR]:
        """The first of several grouped streams that make one aggregate."""
        from penstock.streams.cogrouped import CogroupedKStream

        return CogroupedKStream(self, aggregator)
