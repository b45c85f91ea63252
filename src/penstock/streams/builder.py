"""`StreamsBuilder`: where a topology begins."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeVar, overload

from penstock.kernels.serdes import Serde
from penstock.kernels.store_specs import StoreSpec
from penstock.kernels.tables import GlobalTableUpdate, TableSource
from penstock.kernels.timestamps import FailOnInvalidTimestamp, TimestampExtractor
from penstock.plan.errors import TopologyError, caller
from penstock.plan.nodes import Source
from penstock.streams.graph import Graph
from penstock.streams.kstream import KStream
from penstock.streams.ktable import GlobalKTable, KTable
from penstock.streams.materialized import Materialized
from penstock.streams.topology import Topology

K = TypeVar("K")
V = TypeVar("V")

_RESETS = (None, "earliest", "latest", "none")


class StreamsBuilder:
    """Streams and tables are taken from it, `build()` makes the topology. The serdes are the defaults of
    all of it.
    """

    def __init__(self, *, key_serde: Serde[Any] | None = None, value_serde: Serde[Any] | None = None) -> None:
        self._graph = Graph(key_serde, value_serde)

    @overload
    def stream(
        self,
        topics: str | Iterable[str] | re.Pattern[str],
        *,
        key_serde: Serde[K],
        value_serde: Serde[V],
        timestamp_extractor: TimestampExtractor | None = None,
        reset: str | None = None,
        name: str | None = None,
    ) -> KStream[K, V]: ...
    @overload
    def stream(
        self,
        topics: str | Iterable[str] | re.Pattern[str],
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        reset: str | None = None,
        name: str | None = None,
    ) -> KStream[Any, Any]: ...
    def stream(
        self,
        topics: str | Iterable[str] | re.Pattern[str],
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        reset: str | None = None,
        name: str | None = None,
    ) -> KStream[Any, Any]:
        """Records of a topic, of several, or of all whose names match a pattern."""
        key, value = self._graph.key_serde(key_serde), self._graph.value_serde(value_serde)
        names: tuple[str, ...] = ()
        pattern = None
        if isinstance(topics, re.Pattern):
            pattern = topics.pattern
        else:
            names = (topics,) if isinstance(topics, str) else tuple(topics)
            if not names:
                raise TopologyError("a stream needs at least one topic", caller())
        return source_stream(
            self._graph, names, key, value, pattern, timestamp_extractor, _reset(reset), name
        )

    @overload
    def table(
        self,
        topic: str,
        *,
        key_serde: Serde[K],
        value_serde: Serde[V],
        materialized: Materialized | str | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        reset: str | None = None,
        name: str | None = None,
    ) -> KTable[K, V]: ...
    @overload
    def table(
        self,
        topic: str,
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        materialized: Materialized | str | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        reset: str | None = None,
        name: str | None = None,
    ) -> KTable[Any, Any]: ...
    def table(
        self,
        topic: str,
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        materialized: Materialized | str | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        reset: str | None = None,
        name: str | None = None,
    ) -> KTable[Any, Any]:
        """A topic read as changes of a table. It has a store if that has a name, or an operator needs one."""
        graph, store = self._graph, Materialized.of(materialized)
        store_name = store.name or graph.new_store_name(f"{topic}-")
        source = graph.named(name, "KSTREAM-SOURCE-", "-source")
        node = graph.named(name, "KTABLE-SOURCE-")
        key = graph.key_serde(key_serde, store.key_serde)
        value = graph.value_serde(value_serde, store.value_serde)
        extractor = timestamp_extractor or FailOnInvalidTimestamp()
        graph.add(source, Source(key, value, (topic,), extractor=extractor, reset=_reset(reset)))
        graph.add_store(store.key_value_spec(store_name, key, value))
        operation = TableSource(store=store_name, materialized=store.name is not None, caching=store.caching)
        graph.add(node, operation, source)
        return KTable(graph, node, key, value, {source}, versioned=store.history is not None)

    @overload
    def global_table(
        self,
        topic: str,
        *,
        key_serde: Serde[K],
        value_serde: Serde[V],
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> GlobalKTable[K, V]: ...
    @overload
    def global_table(
        self,
        topic: str,
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> GlobalKTable[Any, Any]: ...
    def global_table(
        self,
        topic: str,
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> GlobalKTable[Any, Any]:
        """A topic read whole by every instance."""
        graph, store = self._graph, Materialized.of(materialized)
        if store.history is not None:
            raise TopologyError("a global table cannot be versioned", caller())
        store_name = store.name or graph.new_store_name(f"{topic}-")
        source = graph.named(name, "KSTREAM-SOURCE-", "-source")
        node = graph.named(name, "KTABLE-SOURCE-")
        key = graph.key_serde(key_serde, store.key_serde)
        value = graph.value_serde(value_serde, store.value_serde)
        graph.add(source, Source(key, value, (topic,), is_global=True))
        unlogged = Materialized(store_name, key, value, logging=False, caching=False)
        graph.add_store(unlogged.key_value_spec(store_name, key, value))
        graph.add(node, GlobalTableUpdate(store_name), source)
        return GlobalKTable(store_name)

    def add_state_store(self, store: StoreSpec) -> StreamsBuilder:
        """A store for processors, which are connected with it by name."""
        self._graph.add_store(store)
        return self

    def build(self, *, optimize: Iterable[str] = ()) -> Topology:
        """The topology, checked; what it cannot do is refused here."""
        return Topology.of(self._graph.plan(), optimize)


def source_stream(
    graph: Graph,
    topics: tuple[str, ...],
    key: Serde[Any],
    value: Serde[Any],
    pattern: str | None = None,
    extractor: TimestampExtractor | None = None,
    reset: str | None = None,
    name: str | None = None,
) -> KStream[Any, Any]:
    node = graph.named(name, "KSTREAM-SOURCE-")
    extractor = extractor or FailOnInvalidTimestamp()
    graph.add(node, Source(key, value, topics, pattern, extractor, reset))
    return KStream(graph, node, key, value, {node})


def _reset(reset: str | None) -> str | None:
    if reset not in _RESETS:
        raise TopologyError(f"reset is {reset!r}; it must be earliest, latest or none", caller())
    return reset
