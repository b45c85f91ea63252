"""Branches of a split stream: each record goes to the first branch whose predicate holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.kernels.stateless import Branch, PassThrough
from penstock.streams.graph import Graph

if TYPE_CHECKING:
    from penstock.streams.kstream import KStream

K = TypeVar("K")
V = TypeVar("V")


class BranchedKStream(Generic[K, V]):
    """Made by `KStream.split()`. The branches are found by the split's name with the branch's number or
    name.
    """

    def __init__(self, graph: Graph, node: str, stream_of: Callable[[str], KStream[K, V]]) -> None:
        self._graph, self._node, self._stream_of = graph, node, stream_of
        self._predicates: tuple[Callable[..., Any], ...] = ()
        self._children: tuple[str, ...] = ()
        self._found: dict[str, KStream[Any, Any]] = {}

    def branch(
        self,
        predicate: Callable[[K, V], object],
        *,
        name: str | None = None,
        chain: Callable[[KStream[K, V]], KStream[Any, Any] | None] | None = None,
    ) -> BranchedKStream[K, V]:
        """One more branch; `chain` is called with it, and what it gives stands in the result instead."""
        self._predicates += (predicate,)
        self._add(name or str(len(self._predicates)), chain)
        return self

    def default_branch(
        self,
        *,
        name: str | None = None,
        chain: Callable[[KStream[K, V]], KStream[Any, Any] | None] | None = None,
    ) -> dict[str, KStream[Any, Any]]:
        """Whatever no branch wanted; returns all branches by name."""
        self._add(name or "0", chain)
        return self._found

    def no_default_branch(self) -> dict[str, KStream[Any, Any]]:
        """Whatever no branch wanted is dropped; returns all branches by name."""
        return self._found

    def _add(self, suffix: str, chain: Callable[[KStream[K, V]], KStream[Any, Any] | None] | None) -> None:
        child = self._node + suffix
        self._graph.new_name(child)  # Kafka uses up a number here
        self._children += (child,)
        self._graph.replace_operation(self._node, Branch(self._predicates, self._children))
        self._graph.add(child, PassThrough(), self._node)
        stream: KStream[Any, Any] | None = self._stream_of(child)
        if chain is not None:
            assert stream is not None
            stream = chain(stream)
        if stream is not None:
            self._found[child] = stream
