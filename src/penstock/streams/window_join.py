"""The nodes and stores of a join of two streams; what they do stands in `kernels/stream_joins.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.kernels.serdes import Serde
from penstock.kernels.stateless import PassThrough
from penstock.kernels.store_specs import OuterBufferSpec, WindowSpec
from penstock.kernels.stream_joins import KeepForJoin, StreamJoinSide
from penstock.kernels.windows import JoinWindows
from penstock.streams.graph import Graph


@dataclass(frozen=True)
class WindowJoin:
    """A join as the user asked for it. `left`: records of this side without a match are emitted; `outer`:
    those of both sides."""

    joiner: Any
    windows: JoinWindows
    key_serde: Serde[Any]
    this_serde: Serde[Any]
    other_serde: Serde[Any]
    left: bool
    outer: bool
    with_key: bool
    name: str | None
    store_name: str | None

    @property
    def this_prefix(self) -> str:
        return "KSTREAM-OUTERTHIS-" if self.outer else "KSTREAM-JOINTHIS-"

    @property
    def other_prefix(self) -> str:
        return "KSTREAM-OUTEROTHER-" if self.left else "KSTREAM-JOINOTHER-"

    @property
    def this_suffix(self) -> str:
        return "-outer-this-join" if self.outer else "-this-join"

    @property
    def other_suffix(self) -> str:
        return "-outer-other-join" if self.left else "-other-join"

    def add_to(self, graph: Graph, this: str, other: str) -> str:
        """Add nodes and stores behind the nodes of the two streams; returns the node of the joined one."""
        keep_this = graph.named(self.name, "KSTREAM-WINDOWED-", "-this-windowed")
        keep_other = graph.named(self.name, "KSTREAM-WINDOWED-", "-other-windowed")
        this_id, other_id = graph.new_name(self.this_prefix), graph.new_name(self.other_prefix)
        this_join = this_id if self.name is None else self.name + self.this_suffix
        other_join = other_id if self.name is None else self.name + self.other_suffix
        merge = graph.named(self.name, "KSTREAM-MERGE-", "-merge")
        this_store = self._window_store(graph, this_id, self.this_suffix, self.this_serde)
        other_store = self._window_store(graph, other_id, self.other_suffix, self.other_serde)
        buffer = self._buffer(graph, this_id) if self.left else None
        graph.add(keep_this, KeepForJoin(this_store), this)
        graph.add(keep_other, KeepForJoin(other_store), other)
        graph.add(this_join, self._side(True, other_store, self.left, buffer), keep_this)
        graph.add(other_join, self._side(False, this_store, self.outer, buffer), keep_other)
        return graph.add(merge, PassThrough(), this_join, other_join)

    def _side(self, is_left: bool, other_store: str, outer: bool, buffer: str | None) -> StreamJoinSide:
        return StreamJoinSide(is_left, other_store, self.windows, self.joiner, self.with_key, outer, buffer)

    def _window_store(self, graph: Graph, generated: str, suffix: str, value: Serde[Any]) -> str:
        stem = generated if self.store_name is None else self.store_name + suffix
        spec = WindowSpec(
            f"{stem}-store",
            self.key_serde,
            value,
            caching=False,
            size_ms=self.windows.size_ms,
            retention_ms=self.windows.retention_ms,
            retain_duplicates=True,
        )
        return graph.add_store(spec)

    def _buffer(self, graph: Graph, this_id: str) -> str:
        """Where records wait that have no match yet."""
        stem = f"KSTREAM-OUTERSHARED-{this_id.removeprefix(self.this_prefix)}"
        if self.store_name is not None:
            stem = self.store_name + ("-outer-shared-join" if self.outer else "-left-shared-join")
        return graph.add_store(
            OuterBufferSpec(
                f"{stem}-store", self.key_serde, self.this_serde, caching=False, right_serde=self.other_serde
            )
        )
