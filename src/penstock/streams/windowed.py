"""Grouped streams in windows. Their tables have keys with a window; late records are dropped when it has
closed.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.kernels.aggregates import add_one, nothing, zero
from penstock.kernels.record import Windowed
from penstock.kernels.serdes import LongSerde, Serde
from penstock.kernels.sessions import add_counts
from penstock.kernels.store_specs import StoreSpec
from penstock.kernels.windows import (
    Aggregation,
    GroupWindows,
    SessionWindows,
    SlidingWindows,
    StoreSettings,
    TimeWindows,
    UnlimitedWindows,
)
from penstock.plan.errors import TopologyError, caller
from penstock.streams.grouped import AGGREGATE, REDUCE, KGroupedStream
from penstock.streams.materialized import Materialized
from penstock.streams.reducing import FirstOrReduce, MergeByReduce

if TYPE_CHECKING:
    from penstock.streams.ktable import KTable

K = TypeVar("K")
V = TypeVar("V")
VR = TypeVar("VR")


class EmitStrategy(Enum):
    ON_WINDOW_UPDATE = "on_window_update"  # each update of a window
    ON_WINDOW_CLOSE = "on_window_close"  # one final result, when stream time has passed its end and grace


def store_spec(
    name: str,
    key: Serde[Any],
    value: Serde[Any],
    windows: GroupWindows,
    store: Materialized,
    *,
    on_close: bool = False,
) -> StoreSpec:
    """The store of a windowed table. One that forgets a window too early is refused."""
    config = tuple(sorted(store.topic_config.items()))
    try:
        retention_ms = store.retention_ms(windows.retention_ms)
    except ValueError as error:
        raise TopologyError(f"store {name}: {error}", caller()) from None
    caching = store.caching and not on_close
    return windows.store_spec(StoreSettings(name, key, value, store.logging, caching, config, retention_ms))


class _WindowedStream(Generic[K, V]):
    def __init__(self, grouped: KGroupedStream[K, V], windows: GroupWindows) -> None:
        self._grouped, self._windows = grouped, windows
        self._on_close = False

    def _set_strategy(self, strategy: EmitStrategy) -> None:
        if strategy is EmitStrategy.ON_WINDOW_CLOSE and not self._windows.close:
            raise TopologyError(f"{type(self._windows).__name__} never close", caller())
        self._on_close = strategy is EmitStrategy.ON_WINDOW_CLOSE

    def _table(
        self,
        prefix: str,
        name: str | None,
        materialized: Materialized | str | None,
        value: Serde[Any] | None,
        functions: tuple[Any, Any, Any],
        *,
        counts: bool = False,
    ) -> KTable[Any, Any]:
        from penstock.streams.ktable import KTable

        grouped, graph, store = self._grouped, self._grouped.graph, Materialized.of(materialized)
        two_numbers = counts and self._windows.count_takes_two_numbers
        store_name = grouped.store_name(materialized, prefix, two_numbers=two_numbers)
        node = graph.named(name, prefix)
        parent, sources = grouped.parent(store, store_name)
        key, value = grouped.key_serde(store), graph.value_serde(store.value_serde, value)
        graph.add_store(store_spec(store_name, key, value, self._windows, store, on_close=self._on_close))
        aggregation = Aggregation(store_name, store.caching, self._on_close, *functions)
        graph.add(node, self._windows.operation(aggregation), parent)
        return KTable(graph, node, self._windows.key_serde(key), value, sources)

    def count(
        self, *, materialized: Materialized | str | None = None, name: str | None = None
    ) -> KTable[Windowed, int]:
        """Records of each key and window."""
        functions = (zero, add_one, add_counts)
        return self._table(AGGREGATE, name, materialized, LongSerde(), functions, counts=True)

    def reduce(
        self,
        reducer: Callable[[V, V], V],
        *,
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> KTable[Windowed, V]:
        """Values of each key and window made one, `(aggregate, value) → aggregate`."""
        value = self._grouped.value_serde(Materialized.of(materialized))
        functions = (nothing, FirstOrReduce(reducer), MergeByReduce(reducer))
        return self._table(REDUCE, name, materialized, value, functions)


class TimeWindowedKStream(_WindowedStream[K, V]):
    """Tumbling, hopping, sliding or unlimited windows."""

    def __init__(
        self, grouped: KGroupedStream[K, V], windows: TimeWindows | UnlimitedWindows | SlidingWindows
    ) -> None:
        super().__init__(grouped, windows)

    def emit_strategy(self, strategy: EmitStrategy) -> TimeWindowedKStream[K, V]:
        self._set_strategy(strategy)
        return self

    def aggregate(
        self,
        initializer: Callable[[], VR],
        aggregator: Callable[[K, V, VR], VR],
        *,
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> KTable[Windowed, VR]:
        """Values of each key and window gathered, `(key, value, aggregate) → aggregate`."""
        return self._table(AGGREGATE, name, materialized, None, (initializer, aggregator, None))


class SessionWindowedKStream(_WindowedStream[K, V]):
    """Sessions: when two become one, their aggregates are merged."""

    def __init__(self, grouped: KGroupedStream[K, V], windows: SessionWindows) -> None:
        super().__init__(grouped, windows)

    def emit_strategy(self, strategy: EmitStrategy) -> SessionWindowedKStream[K, V]:
        self._set_strategy(strategy)
        return self

    def aggregate(
        self,
        initializer: Callable[[], VR],
        aggregator: Callable[[K, V, VR], VR],
        merger: Callable[[K, VR, VR], VR],
        *,
        materialized: Materialized | str | None = None,
        name: str | None = None,
    ) -> KTable[Windowed, VR]:
        """Values of each key and session gathered; `merger(key, aggregate, aggregate)` joins two sessions."""
        return self._table(AGGREGATE, name, materialized, None, (initializer, aggregator, merger))
