"""`KStream`: a stream of records, and what can be done with it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from penstock.kernels import stateless
from penstock.kernels.lookup_joins import GlobalTableJoin, StreamTableJoin
from penstock.kernels.processor import Processor, UserProcessor
from penstock.kernels.record import Metadata
from penstock.kernels.serdes import Serde
from penstock.kernels.tables import TableSource
from penstock.kernels.windows import JoinWindows
from penstock.plan.errors import TopologyError, caller
from penstock.plan.nodes import Sink
from penstock.streams.branched import BranchedKStream
from penstock.streams.graph import Graph
from penstock.streams.grouped import KGroupedStream
from penstock.streams.materialized import Materialized
from penstock.streams.partitioning import partitioner_for
from penstock.streams.window_join import WindowJoin

if TYPE_CHECKING:
    from penstock.streams.ktable import GlobalKTable, KTable

K = TypeVar("K")
V = TypeVar("V")
KR = TypeVar("KR")
VR = TypeVar("VR")
VO = TypeVar("VO")
KG = TypeVar("KG")
VG = TypeVar("VG")


class KStream(Generic[K, V]):
    """Records in order, each of which stands for itself. Made by `StreamsBuilder.stream` and by other
    streams.
    """

    def __init__(
        self,
        graph: Graph,
        node: str,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
        sources: Iterable[str],
        *,
        rekeyed: bool = False,
    ) -> None:
        self._graph, self._node = graph, node
        self._key_serde, self._value_serde = key_serde, value_serde
        self._sources = frozenset(sources)
        self._rekeyed = rekeyed  # the key may not be the one that partitioned the topic
        self._repartitioned: dict[str, str] = {}

    def _then(
        self,
        operation: Any,
        prefix: str,
        name: str | None,
        *,
        keeps_key: bool = True,
        keeps_value: bool = True,
    ) -> KStream[Any, Any]:
        node = self._graph.add(self._graph.named(name, prefix), operation, self._node)
        return KStream(
            self._graph,
            node,
            self._key_serde if keeps_key else None,
            self._value_serde if keeps_value else None,
            self._sources,
            rekeyed=self._rekeyed or not keeps_key,
        )

    # Without state

    def filter(self, predicate: Callable[[K, V], object], *, name: str | None = None) -> KStream[K, V]:
        """Records for which the predicate holds."""
        return self._then(stateless.Filter(predicate), "KSTREAM-FILTER-", name)

    def filter_not(self, predicate: Callable[[K, V], object], *, name: str | None = None) -> KStream[K, V]:
        """Records for which the predicate does not hold."""
        return self._then(stateless.Filter(predicate, negate=True), "KSTREAM-FILTER-", name)

    def map(self, mapper: Callable[[K, V], tuple[KR, VR]], *, name: str | None = None) -> KStream[KR, VR]:
        """A new key and value for each record. What is grouped or joined next is repartitioned first."""
        return self._then(stateless.Map(mapper), "KSTREAM-MAP-", name, keeps_key=False, keeps_value=False)

    def select_key(self, selector: Callable[[K, V], KR], *, name: str | None = None) -> KStream[KR, V]:
        """A new key for each record. What is grouped or joined next is repartitioned first."""
        return self._then(stateless.SelectKey(selector), "KSTREAM-KEY-SELECT-", name, keeps_key=False)

    @overload
    def map_values(self, mapper: Callable[[V], VR], *, name: str | None = None) -> KStream[K, VR]: ...
    @overload
    def map_values(
        self, mapper: Callable[[K, V], VR], *, with_key: Literal[True], name: str | None = None
    ) -> KStream[K, VR]: ...
    def map_values(
        self, mapper: Callable[..., Any], *, with_key: bool = False, name: str | None = None
    ) -> KStream[Any, Any]:
        """A new value for each record. The key stays, so no repartitioning follows."""
        operation = stateless.MapValues(mapper, with_key)
        return self._then(operation, "KSTREAM-MAPVALUES-", name, keeps_value=False)

    def flat_map(
        self, mapper: Callable[[K, V], Iterable[tuple[KR, VR]]], *, name: str | None = None
    ) -> KStream[KR, VR]:
        """Any number of records for each."""
        return self._then(
            stateless.FlatMap(mapper), "KSTREAM-FLATMAP-", name, keeps_key=False, keeps_value=False
        )

    @overload
    def flat_map_values(
        self, mapper: Callable[[V], Iterable[VR]], *, name: str | None = None
    ) -> KStream[K, VR]: ...
    @overload
    def flat_map_values(
        self, mapper: Callable[[K, V], Iterable[VR]], *, with_key: Literal[True], name: str | None = None
    ) -> KStream[K, VR]: ...
    def flat_map_values(
        self, mapper: Callable[..., Any], *, with_key: bool = False, name: str | None = None
    ) -> KStream[Any, Any]:
        """Any number of values for each record, all with its key."""
        operation = stateless.FlatMapValues(mapper, with_key)
        return self._then(operation, "KSTREAM-FLATMAPVALUES-", name, keeps_value=False)

    def peek(self, action: Callable[[K, V], object], *, name: str | None = None) -> KStream[K, V]:
        """Call a function with each record, and let it pass."""
        return self._then(stateless.Peek(action), "KSTREAM-PEEK-", name)

    def for_each(self, action: Callable[[K, V], object], *, name: str | None = None) -> None:
        """Call a function with each record; the stream ends here."""
        self._then(stateless.Peek(action, last=True), "KSTREAM-FOREACH-", name)

    def print(self, label: str | None = None, *, name: str | None = None) -> None:
        """Show records on standard output, as Kafka's `Printed.toSysOut` does."""
        action = _Printer(label or self._node)
        self._then(stateless.Peek(action, last=True), "KSTREAM-PRINTER-", name)

    def split(self, *, name: str | None = None) -> BranchedKStream[K, V]:
        """Send each record to the first branch that wants it."""
        node = self._graph.named(name, "KSTREAM-BRANCH-")
        self._graph.add(node, stateless.Branch((), ()), self._node)

        def branch(child: str) -> KStream[K, V]:
            return KStream(
                self._graph, child, self._key_serde, self._value_serde, self._sources, rekeyed=self._rekeyed
            )

        return BranchedKStream(self._graph, node, branch)

    def merge(self, other: KStream[K, V], *, name: str | None = None) -> KStream[K, V]:
        """Records of both streams, in no promised order between them."""
        node = self._graph.named(name, "KSTREAM-MERGE-")
        self._graph.add(node, stateless.PassThrough(), *dict.fromkeys((self._node, other._node)))
        return KStream(
            self._graph,
            node,
            self._key_serde if self._key_serde == other._key_serde else None,
            self._value_serde if self._value_serde == other._value_serde else None,
            self._sources | other._sources,
            rekeyed=self._rekeyed or other._rekeyed,
        )

    # Topics

    def repartition(
        self,
        *,
        name: str | None = None,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
        partitions: int | None = None,
        partitioner: Callable[[str, K, V, int], int] | None = None,
    ) -> KStream[K, V]:
        """Through a topic of the application's own, so that records lie in the partition of their key."""
        if partitions is not None and partitions < 1:
            raise TopologyError(f"a topic has at least one partition, not {partitions}", caller())
        prefix = name if name is not None else self._graph.new_name("KSTREAM-REPARTITION-")
        key = self._graph.key_serde(key_serde, self._key_serde)
        value = self._graph.value_serde(value_serde, self._value_serde)
        source = self._graph.repartition(self._node, prefix, key, value, partitions, partitioner)
        return KStream(self._graph, source, key, value, {source})

    def to(
        self,
        topic: str | Callable[[K, V, Metadata], str],
        *,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
        partitioner: Callable[[str, K, V, int], int] | None = None,
        name: str | None = None,
    ) -> None:
        """Write to a topic that is there, or to the one that a function names for each record."""
        key = self._graph.key_serde(key_serde, self._key_serde)
        sink = Sink(
            key,
            self._graph.value_serde(value_serde, self._value_serde),
            topic if isinstance(topic, str) else None,
            None if isinstance(topic, str) else topic,
            partitioner or partitioner_for(key),
        )
        self._graph.add(self._graph.named(name, "KSTREAM-SINK-"), sink, self._node)

    def through(
        self, topic: str, *, key_serde: Serde[K] | None = None, value_serde: Serde[V] | None = None
    ) -> KStream[K, V]:
        """Write to a topic that is there and read it again: `to()` and `stream()` in one."""
        from penstock.streams.builder import source_stream

        self.to(topic, key_serde=key_serde, value_serde=value_serde)
        key = self._graph.key_serde(key_serde, self._key_serde)
        value = self._graph.value_serde(value_serde, self._value_serde)
        return source_stream(self._graph, (topic,), key, value)

    def to_table(
        self, *, materialized: Materialized | str | None = None, name: str | None = None
    ) -> KTable[K, V]:
        """Read the stream as changes of a table: a null value deletes the row."""
        from penstock.streams.ktable import KTable

        store = Materialized.of(materialized)
        node = self._graph.named(name, "KSTREAM-TOTABLE-")
        store_name = store.name or self._graph.new_store_name("KSTREAM-TOTABLE-")
        key = self._graph.key_serde(store.key_serde, self._key_serde)
        value = self._graph.value_serde(store.value_serde, self._value_serde)
        parent, sources = self._node, self._sources
        if self._rekeyed:
            parent = self._graph.repartition(self._node, node, key, value)
            sources = frozenset({parent})
        self._graph.add_store(store.key_value_spec(store_name, key, value))
        operation = TableSource(store=store_name, materialized=store.name is not None, caching=store.caching)
        self._graph.add(node, operation, parent)
        return KTable(self._graph, node, key, value, sources, versioned=store.history is not None)

    # Groups

    def group_by_key(
        self,
        *,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
        name: str | None = None,
    ) -> KGroupedStream[K, V]:
        """Group by the key as it is; `name` names the repartition topic, if one is needed."""
        return KGroupedStream(
            self._graph,
            self._node,
            key_serde or self._key_serde,
            value_serde or self._value_serde,
            self._sources,
            rekeyed=self._rekeyed,
            name=name,
        )

    def group_by(
        self,
        selector: Callable[[K, V], KR],
        *,
        key_serde: Serde[KR] | None = None,
        value_serde: Serde[V] | None = None,
        name: str | None = None,
    ) -> KGroupedStream[KR, V]:
        """Group by a key computed from the record; a repartition topic follows."""
        node = self._graph.named(name, "KSTREAM-KEY-SELECT-")
        self._graph.add(node, stateless.SelectKey(selector), self._node)
        return KGroupedStream(
            self._graph,
            node,
            key_serde,
            value_serde or self._value_serde,
            self._sources,
            rekeyed=True,
            name=name,
        )

    # Joins

    @overload
    def join(
        self,
        other: KStream[K, VO],
        joiner: Callable[..., VR],
        windows: JoinWindows,
        *,
        with_key: bool = False,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
        other_value_serde: Serde[VO] | None = None,
        name: str | None = None,
        store_name: str | None = None,
    ) -> KStream[K, VR]: ...
    @overload
    def join(
        self,
        other: KTable[K, VO],
        joiner: Callable[..., VR],
        *,
        with_key: bool = False,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
        name: str | None = None,
    ) -> KStream[K, VR]: ...
    @overload
    def join(
        self,
        other: GlobalKTable[KG, VG],
        joiner: Callable[..., VR],
        *,
        key_selector: Callable[[K, V], KG | None],
        with_key: bool = False,
        name: str | None = None,
    ) -> KStream[K, VR]: ...
    def join(self, other: Any, joiner: Any, windows: Any = None, **options: Any) -> KStream[Any, Any]:
        """Inner join with a stream in a window, with a table's row of the same key, or with a global
        table's row.
        """
        return self._join(other, joiner, windows, left=False, outer=False, **options)

    @overload
    def left_join(
        self,
        other: KStream[K, VO],
        joiner: Callable[..., VR],
        windows: JoinWindows,
        *,
        with_key: bool = False,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
        other_value_serde: Serde[VO] | None = None,
        name: str | None = None,
        store_name: str | None = None,
    ) -> KStream[K, VR]: ...
    @overload
    def left_join(
        self,
        other: KTable[K, VO],
        joiner: Callable[..., VR],
        *,
        with_key: bool = False,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
        name: str | None = None,
    ) -> KStream[K, VR]: ...
    @overload
    def left_join(
        self,
        other: GlobalKTable[KG, VG],
        joiner: Callable[..., VR],
        *,
        key_selector: Callable[[K, V], KG | None],
        with_key: bool = False,
        name: str | None = None,
    ) -> KStream[K, VR]: ...
    def left_join(self, other: Any, joiner: Any, windows: Any = None, **options: Any) -> KStream[Any, Any]:
        """As `join`, and records without a match are joined with `None`: with a stream, when their window
        closes.
        """
        return self._join(other, joiner, windows, left=True, outer=False, **options)

    def outer_join(
        self,
        other: KStream[K, VO],
        joiner: Callable[..., VR],
        windows: JoinWindows,
        *,
        with_key: bool = False,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
        other_value_serde: Serde[VO] | None = None,
        name: str | None = None,
        store_name: str | None = None,
    ) -> KStream[K, VR]:
        """As `left_join`, from both sides."""
        return self._join(
            other,
            joiner,
            windows,
            left=True,
            outer=True,
            with_key=with_key,
            key_serde=key_serde,
            value_serde=value_serde,
            other_value_serde=other_value_serde,
            name=name,
            store_name=store_name,
        )

    def _join(
        self, other: Any, joiner: Any, windows: JoinWindows | None, *, left: bool, outer: bool, **options: Any
    ) -> KStream[Any, Any]:
        from penstock.streams.ktable import GlobalKTable, KTable

        if isinstance(other, KStream):
            if not isinstance(windows, JoinWindows):
                raise TopologyError("a join of two streams needs JoinWindows", caller())
            return self._join_stream(other, joiner, windows, left=left, outer=outer, **options)
        if windows is not None:
            raise TopologyError("only a join of two streams has a window", caller())
        if isinstance(other, KTable):
            return self._join_table(other, joiner, left=left, **options)
        if isinstance(other, GlobalKTable):
            return self._join_global(other, joiner, left=left, **options)
        raise TopologyError(f"a stream is joined with a stream or a table, not with {other!r}", caller())

    def _for_join(self, prefix: str, key_serde: Any, value_serde: Any) -> KStream[K, V]:
        """This stream by its key, through a repartition topic if need be."""
        if not self._rekeyed:
            return self
        key = self._graph.key_serde(key_serde, self._key_serde)
        value = self._graph.value_serde(value_serde, self._value_serde)
        known = self._repartitioned.get(prefix)
        source = self._graph.repartition(self._node, prefix, key, value, reuse=known)
        self._repartitioned[prefix] = source
        return KStream(self._graph, source, key, value, {source})

    def _join_stream(
        self,
        other: KStream[Any, Any],
        joiner: Any,
        windows: JoinWindows,
        *,
        left: bool,
        outer: bool,
        with_key: bool = False,
        key_serde: Any = None,
        value_serde: Any = None,
        other_value_serde: Any = None,
        name: str | None = None,
        store_name: str | None = None,
    ) -> KStream[Any, Any]:
        one = self._for_join(self._node if name is None else f"{name}-left", key_serde, value_serde)
        two = other._for_join(other._node if name is None else f"{name}-right", key_serde, other_value_serde)
        graph = self._graph
        sources = one._sources | two._sources
        graph.copartition(sources)
        key = graph.key_serde(key_serde, one._key_serde, two._key_serde)
        this_value = graph.value_serde(value_serde, one._value_serde)
        other_value = graph.value_serde(other_value_serde, two._value_serde)
        join = WindowJoin(
            joiner, windows, key, this_value, other_value, left, outer, with_key, name, store_name
        )
        return KStream(graph, join.add_to(graph, one._node, two._node), key, None, sources)

    def _join_table(
        self,
        table: KTable[Any, Any],
        joiner: Any,
        *,
        left: bool,
        with_key: bool = False,
        key_serde: Any = None,
        value_serde: Any = None,
        name: str | None = None,
    ) -> KStream[Any, Any]:
        stream = self._for_join(self._node if name is None else name, key_serde, value_serde)
        sources = stream._sources | table._sources
        self._graph.copartition(sources)
        node = self._graph.named(name, "KSTREAM-LEFTJOIN-" if left else "KSTREAM-JOIN-")
        self._graph.add(node, StreamTableJoin(joiner, left, with_key, table=table._node), stream._node)
        return KStream(self._graph, node, key_serde or stream._key_serde, None, sources)

    def _join_global(
        self,
        table: GlobalKTable[Any, Any],
        joiner: Any,
        *,
        left: bool,
        key_selector: Any = None,
        with_key: bool = False,
        name: str | None = None,
    ) -> KStream[Any, Any]:
        if key_selector is None:
            raise TopologyError(
                "a join with a global table needs key_selector=: (key, value) → its key", caller()
            )
        operation = GlobalTableJoin(joiner, left, with_key, store=table.store_name, key_selector=key_selector)
        return self._then(operation, "KSTREAM-LEFTJOIN-", name, keeps_value=False)

    # Processor API

    def process(
        self, supplier: Callable[[], Processor], *, stores: Iterable[str] = (), name: str | None = None
    ) -> KStream[Any, Any]:
        """A processor of one's own: a new one for each task, connected with stores by name."""
        operation = UserProcessor(supplier, tuple(stores))
        return self._then(operation, "KSTREAM-PROCESSOR-", name, keeps_key=False, keeps_value=False)

    def process_values(
        self, supplier: Callable[[], Processor], *, stores: Iterable[str] = (), name: str | None = None
    ) -> KStream[K, Any]:
        """The same, but the key may not change, so no repartitioning follows."""
        operation = UserProcessor(supplier, tuple(stores), fixed_key=True)
        return self._then(operation, "KSTREAM-PROCESSVALUES-", name, keeps_value=False)


class _Printer:
    def __init__(self, label: str) -> None:
        self._label = label

    def __call__(self, key: Any, value: Any) -> None:
        sys.stdout.write(f"[{self._label}]: {key}, {value}\n")
