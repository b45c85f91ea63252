"""A sorted set like Java's `TreeSet`, down to where an element goes when the order has changed meanwhile.

Kafka sorts the children of a node by a size that grows while the tree is filled. The result then depends on
which elements an insertion is compared with, so `describe.py` needs the same red-black tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(eq=False)
class _Entry(Generic[T]):
    item: T
    parent: _Entry[T] | None = None
    left: _Entry[T] | None = None
    right: _Entry[T] | None = None
    red: bool = True


class JavaTree(Generic[T]):
    """`before(one, other)` says whether one comes before the other now; items that are the same are kept
    once, if the insertion meets them."""

    def __init__(self, before: Callable[[T, T], bool]) -> None:
        self._before = before
        self._root: _Entry[T] | None = None

    def __iter__(self) -> Iterator[T]:
        return self._in_order(self._root)

    def _in_order(self, entry: _Entry[T] | None) -> Iterator[T]:
        if entry is not None:
            yield from self._in_order(entry.left)
            yield entry.item
            yield from self._in_order(entry.right)

    def add(self, item: T) -> None:
        parent, at = None, self._root
        goes_left = False
        while at is not None:
            if at.item is item:
                return
            parent, goes_left = at, self._before(item, at.item)
            at = at.left if goes_left else at.right
        entry = _Entry(item, parent)
        if parent is None:
            self._root = entry
        elif goes_left:
            parent.left = entry
        else:
            parent.right = entry
        self._balance(entry)

    def _balance(self, entry: _Entry[T]) -> None:
        while (parent := entry.parent) is not None and parent.red:
            above = parent.parent
            assert above is not None, "the root is black"
            parent_is_left = parent is above.left
            uncle = above.right if parent_is_left else above.left
            if uncle is not None and uncle.red:
                parent.red = uncle.red = False
                above.red = True
                entry = above
                continue
            if entry is (parent.right if parent_is_left else parent.left):
                self._rotate(parent, left=parent_is_left)
                entry, parent = parent, entry
            parent.red, above.red = False, True
            self._rotate(above, left=not parent_is_left)
        assert self._root is not None
        self._root.red = False

    def _rotate(self, entry: _Entry[T], *, left: bool) -> None:
        """Put the right (or left) child of an entry in its place."""
        child = entry.right if left else entry.left
        assert child is not None
        inner = child.left if left else child.right
        if left:
            entry.right, child.left = inner, entry
        else:
            entry.left, child.right = inner, entry
        if inner is not None:
            inner.parent = entry
        above = entry.parent
        child.parent, entry.parent = above, child
        if above is None:
            self._root = child
        elif above.left is entry:
            above.left = child
        else:
            above.right = child
