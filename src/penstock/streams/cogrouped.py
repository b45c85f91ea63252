"""Several grouped streams with one aggregate: each has an aggregator of its own, all share one store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.kernels.aggregates import StreamAggregate
from penstock.kernels.operation import Operation
from penstock.kernels.record import Windowed
from penstock.kernels.tables import TableMerge
from penstock.kernels.windows import Aggregation, GroupWindows
from penstock.plan.errors import TopologyError, caller
from penstock.streams.grouped import KGroupedStream
from penstock.streams.materialized import Materialized
from penstock.streams.windowed import store_spec

if TYPE_CHECKING:
    from penstock.streams.ktable import KTable

K = TypeVar("K")
VIn = TypeVar("VIn")
VOut = TypeVar("VOut")

AGGREGATE = "COGROUPKSTREAM-AGGREGATE-"
MERGE = "COGROUPKSTREAM-MERGE-"


class CogroupedKStream(Generic[K, VOut]):
    """Made by `KGroupedStream.cogroup`."""

    def __init__(self, grouped: KGroupedStream[K, Any], aggregator: Callable[..., Any]) -> None:
        self._groups: dict[KGroupedStream[K, Any], Callable[..., Any]] = {grouped: aggregator}

    def cogroup(
        self, grouped: KGroupedStream[K, VIn], aggregator: Callable[[K, VIn, VOut], VOut]
    ) -> CogroupedKStream[K, VOut]:
        """One more stream."""
        self._groups[grouped] = aggregator
        return self

    def windowed_by(self, windows: GroupWindows) -> WindowedCogroupedKStream[K, VOut]:
        return WindowedCogroupedKStream(self._groups, windows)

    def aggregate(
        self,
        initializer: Callable[[], VOut],
        *,
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> KTable[K, VOut]:
        return _table(self._groups, initializer, None, None, materialized, name)


class WindowedCogroupedKStream(Generic[K, VOut]):
    def __init__(
        self, groups: dict[KGroupedStream[K, Any], Callable[..., Any]], windows: GroupWindows
    ) -> None:
        self._groups, self._windows = groups, windows

    def aggregate(
        self,
        initializer: Callable[[], VOut],
        merger: Callable[[K, VOut, VOut], VOut] | None = None,
        *,
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> KTable[Windowed, VOut]:
        """Sessions need a `merger`, which joins the aggregates of two that become one."""
        if (merger is not None) != self._windows.merge:
            raise TopologyError("a merger goes with session windows, and with no others", caller())
        return _table(self._groups, initializer, self._windows, merger, materialized, name)


def _table(
    groups: dict[KGroupedStream[Any, Any], Callable[..., Any]],
    initializer: Any,
    windows: GroupWindows | None,
    merger: Any,
    materialized: Materialized | str | None,
    name: str | None,
) -> KTable[Any, Any]:
    from penstock.streams.ktable import KTable

    first = next(iter(groups))
    graph, store = first.graph, Materialized.of(materialized)
    store_name = first.store_name(materialized, AGGREGATE)
    parents = [group.parent(store, store_name) for group in groups]
    sources = frozenset(source for _, found in parents for source in found)
    graph.copartition(sources)
    key, value = first.key_serde(store), graph.value_serde(store.value_serde)
    if windows is None:
        graph.add_store(store.key_value_spec(store_name, key, value))
    else:
        graph.add_store(store_spec(store_name, key, value, windows, store))
    nodes = []
    for number, (aggregator, (parent, _)) in enumerate(zip(groups.values(), parents, strict=True)):
        operation: Operation
        if windows is None:
            operation = StreamAggregate(
                store=store_name, caching=store.caching, initializer=initializer, aggregator=aggregator
            )
        else:
            aggregation = Aggregation(store_name, store.caching, False, initializer, aggregator, merger)
            operation = windows.operation(aggregation)
        nodes.append(graph.add(graph.named(name, AGGREGATE, f"-cogroup-agg-{number}"), operation, parent))
    merge = graph.add(graph.named(name, MERGE, "-cogroup-merge"), TableMerge(store=store_name), *nodes)
    key_out = key if windows is None else windows.key_serde(key)
    return KTable(graph, merge, key_out, value, sources)
