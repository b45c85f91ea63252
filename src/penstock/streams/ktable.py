"""`KTable`: a table as the stream of its changes; and `GlobalKTable`, which every instance has whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Literal, TypeVar, overload

from penstock.kernels import tables
from penstock.kernels.aggregates import TableRepartitionMap
from penstock.kernels.serdes import Serde
from penstock.kernels.sessions import SessionAggregate
from penstock.kernels.stateless import SelectKey, ToStream
from penstock.kernels.store_specs import SuppressSpec
from penstock.kernels.suppress import Suppress
from penstock.kernels.table_joins import TableJoinMerge, TableJoinSide
from penstock.kernels.windowed import WindowedAggregation
from penstock.kernels.windows import millis
from penstock.plan.errors import TopologyError, caller
from penstock.streams.foreign_key import join_on_foreign_key
from penstock.streams.graph import Graph
from penstock.streams.grouped_table import KGroupedTable
from penstock.streams.kstream import KStream
from penstock.streams.materialized import Materialized, Suppressed

K = TypeVar("K")
V = TypeVar("V")
KR = TypeVar("KR")
VR = TypeVar("VR")
KO = TypeVar("KO")
VO = TypeVar("VO")


class KTable(Generic[K, V]):
    """The newest value of each key. Made by `StreamsBuilder.table`, by aggregations and by other tables."""

    def __init__(
        self,
        graph: Graph,
        node: str,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
        sources: Iterable[str],
        *,
        versioned: bool = False,
    ) -> None:
        self._graph, self._node = graph, node
        self._key_serde, self._value_serde = key_serde, value_serde
        self._sources = frozenset(sources)
        self._versioned = versioned

    def filter(
        self,
        predicate: Callable[[K, V], object],
        *,
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> KTable[K, V]:
        """Rows for which the predicate holds; the others are deleted downstream."""
        return self._filter(predicate, False, materialized, name)

    def filter_not(
        self,
        predicate: Callable[[K, V], object],
        *,
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> KTable[K, V]:
        """Rows for which the predicate does not hold."""
        return self._filter(predicate, True, materialized, name)

    def _filter(
        self, predicate: Any, negate: bool, materialized: Materialized | str | None, name: str | None
    ) -> KTable[K, V]:
        def operation(store: str | None, caching: bool) -> tables.TableFilter:
            return tables.TableFilter(
                store=store, caching=caching, predicate=predicate, negate=negate, versioned=self._versioned
            )

        return self._row_by_row(operation, "KTABLE-FILTER-", materialized, name, self._value_serde)

    @overload
    def map_values(
        self,
        mapper: Callable[[V], VR],
        *,
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> KTable[K, VR]: ...
    @overload
    def map_values(
        self,
        mapper: Callable[[K, V], VR],
        *,
        with_key: Literal[True],
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> KTable[K, VR]: ...
    def map_values(
        self,
        mapper: Callable[..., Any],
        *,
        with_key: bool = False,
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> KTable[Any, Any]:
        """A new value for each row."""

        def operation(store: str | None, caching: bool) -> tables.TableMapValues:
            return tables.TableMapValues(store=store, caching=caching, function=mapper, with_key=with_key)

        return self._row_by_row(operation, "KTABLE-MAPVALUES-", materialized, name, None)

    def _row_by_row(
        self,
        operation: Callable[[str | None, bool], Any],
        prefix: str,
        materialized: Materialized | str | None,
        name: str | None,
        value_serde: Serde[Any] | None,
    ) -> KTable[Any, Any]:
        store = Materialized.of(materialized)
        if materialized is not None and store.name is None:
            self._graph.new_store_name(prefix)  # Kafka uses up a number here
        node = self._graph.named(name, prefix)
        key, value = store.key_serde or self._key_serde, store.value_serde or value_serde
        if store.name is not None:
            key, value = self._graph.key_serde(key), self._graph.value_serde(value)
            self._graph.add_store(store.key_value_spec(store.name, key, value))
        self._graph.add(node, operation(store.name, store.caching), self._node)
        versioned = store.history is not None or (store.name is None and self._versioned)
        return KTable(self._graph, node, key, value, self._sources, versioned=versioned)

    @overload
    def to_stream(self, *, name: str | None = None) -> KStream[K, V]: ...
    @overload
    def to_stream(self, selector: Callable[[K, V], KR], *, name: str | None = None) -> KStream[KR, V]: ...
    def to_stream(
        self, selector: Callable[..., Any] | None = None, *, name: str | None = None
    ) -> KStream[Any, Any]:
        """The changes as records, perhaps with a new key."""
        node = self._graph.add(self._graph.named(name, "KTABLE-TOSTREAM-"), ToStream(), self._node)
        key = self._key_serde
        if selector is not None:
            selected = self._graph.new_name("KSTREAM-KEY-SELECT-")
            node, key = self._graph.add(selected, SelectKey(selector), node), None
        return KStream(self._graph, node, key, self._value_serde, self._sources, rekeyed=selector is not None)

    def suppress(self, suppressed: Suppressed) -> KTable[K, V]:
        """Hold changes back: until a time limit, or until the window closes."""
        if self._versioned:
            raise TopologyError("a versioned table cannot be suppressed", caller())
        given = suppressed.name
        node = given if given is not None else self._graph.new_name("KTABLE-SUPPRESS-")
        store = f"{given}-store" if given is not None else self._graph.new_store_name("KTABLE-SUPPRESS-")
        until_close = suppressed.wait is None
        wait = self._grace(self._node) if suppressed.wait is None else millis(suppressed.wait)
        self._graph.add_store(
            SuppressSpec(
                store,
                self._graph.key_serde(self._key_serde),
                self._graph.value_serde(self._value_serde),
                caching=False,
            )
        )
        buffer = suppressed.buffer
        operation = Suppress(
            store=store,
            wait_ms=wait,
            until_close=until_close,
            max_records=buffer.max_records,
            max_bytes=buffer.max_bytes,
            emit_early=buffer.emit_early,
        )
        self._graph.add(node, operation, self._node)
        return KTable(self._graph, node, self._key_serde, self._value_serde, self._sources)

    def _grace(self, name: str) -> int:
        """How long after a window's end it closes, from the aggregation upstream."""
        node = self._graph.plan().by_name[name]
        match node.operation:
            case SessionAggregate(windows=windows):
                return windows.grace_ms + windows.gap_ms
            case WindowedAggregation():
                grace: int = node.operation.windows.grace_ms  # type: ignore[attr-defined]
                return grace
        if not node.parents:
            raise TopologyError("only windows close: aggregate in windows before this suppress()", caller())
        return max(self._grace(parent) for parent in node.parents)

    def group_by(
        self,
        selector: Callable[[K, V], tuple[KR, VR] | None],
        *,
        key_serde: Serde[KR] | None = None,
        value_serde: Serde[VR] | None = None,
        name: str | None = None,
    ) -> KGroupedTable[KR, VR]:
        """Group rows by a key computed from them, through a repartition topic."""
        node = self._graph.named(name, "KTABLE-SELECT-")
        self._graph.add(node, TableRepartitionMap(selector), self._node)
        return KGroupedTable(self._graph, node, key_serde, value_serde, name)

    def join(
        self,
        other: KTable[Any, VO],
        joiner: Callable[[V, VO], VR],
        *,
        foreign_key: Callable[[V], Any] | None = None,
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> KTable[K, VR]:
        """Rows that both tables have. With `foreign_key` a row of this table names the key of the other's
        row.
        """
        if foreign_key is not None:
            return self._join_foreign(other, foreign_key, joiner, materialized, name, left=False)
        return self._join(other, joiner, materialized, name, this_needed=True, other_needed=True)

    def left_join(
        self,
        other: KTable[Any, VO],
        joiner: Callable[[V, VO | None], VR],
        *,
        foreign_key: Callable[[V], Any] | None = None,
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> KTable[K, VR]:
        """Rows of this table, with the other's or `None`."""
        if foreign_key is not None:
            return self._join_foreign(other, foreign_key, joiner, materialized, name, left=True)
        return self._join(other, joiner, materialized, name, this_needed=True, other_needed=False)

    def outer_join(
        self,
        other: KTable[K, VO],
        joiner: Callable[[V | None, VO | None], VR],
        *,
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> KTable[K, VR]:
        """Rows of either table, with the other's or `None`."""
        return self._join(other, joiner, materialized, name, this_needed=False, other_needed=False)

    def _join(
        self,
        other: KTable[Any, Any],
        joiner: Any,
        materialized: Materialized | str | None,
        name: str | None,
        *,
        this_needed: bool,
        other_needed: bool,
    ) -> KTable[Any, Any]:
        graph, store = self._graph, Materialized.of(materialized)
        store_name = store.name
        if materialized is not None and store_name is None:
            store_name = graph.new_store_name("KTABLE-MERGE-")
        merge = graph.named(name, "KTABLE-MERGE-")
        this_name = graph.named(name, "KTABLE-JOINTHIS-", "-join-this")
        other_name = graph.named(name, "KTABLE-JOINOTHER-", "-join-other")
        sources = self._sources | other._sources
        graph.copartition(sources)
        this = TableJoinSide(
            this=self._node,
            other=other._node,
            this_needed=this_needed,
            other_needed=other_needed,
            joiner=joiner,
        )
        that = TableJoinSide(
            this=other._node,
            other=self._node,
            is_left=False,
            this_needed=other_needed,
            other_needed=this_needed,
            joiner=joiner,
        )
        graph.add(this_name, this, self._node)
        graph.add(other_name, that, other._node)
        key, value = graph.key_serde(store.key_serde, self._key_serde, other._key_serde), store.value_serde
        if store_name is not None:
            value = graph.value_serde(value)
            graph.add_store(store.key_value_spec(store_name, key, value))
        graph.add(merge, TableJoinMerge(store=store_name, caching=store.caching), this_name, other_name)
        return KTable(graph, merge, key, value, sources, versioned=store.history is not None)

    def _join_foreign(
        self,
        other: KTable[Any, Any],
        extractor: Any,
        joiner: Any,
        materialized: Materialized | str | None,
        name: str | None,
        *,
        left: bool,
    ) -> KTable[Any, Any]:
        store = Materialized.of(materialized)
        graph = self._graph
        key, value = graph.key_serde(self._key_serde), graph.value_serde(self._value_serde)
        node, sources = join_on_foreign_key(
            graph,
            (self._node, key, value, self._sources),
            (
                other._node,
                graph.key_serde(other._key_serde),
                graph.value_serde(other._value_serde),
                other._sources,
            ),
            extractor,
            joiner,
            store,
            name,
            left=left,
        )
        return KTable(graph, node, key, store.value_serde, sources)


class GlobalKTable(Generic[K, V]):
    """A table that every instance has whole: streams look up any key in it, whatever their own is."""

    def __init__(self, store_name: str) -> None:
        self.store_name = store_name
