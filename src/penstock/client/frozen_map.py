"""`FrozenMap`: a mapping that never changes; `with_item` and `without` return the next one.

Items are spread over shards by their hash, and the shards over rows; a change copies one row of shards, the
list of rows, and one shard. A state with a hundred thousand items is changed in microseconds, and every
reader keeps the version that it has without a lock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final, TypeVar, overload

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

ROWS: Final = 32
WIDTH: Final = 32
"""Shards in a row."""
_BITS: Final = 5
"""Of a hash that name the shard in its row; the next ones name the row."""


class FrozenMap(Mapping[K, V]):
    """Items come in no particular order."""

    __slots__ = ("_count", "_rows")

    def __init__(self) -> None:
        self._rows: list[list[dict[K, V]]] = [[{}] * WIDTH] * ROWS
        self._count = 0

    def __getitem__(self, key: K) -> V:
        at = hash(key)
        return self._rows[(at >> _BITS) % ROWS][at % WIDTH][key]

    @overload
    def get(self, key: K, /) -> V | None: ...

    @overload
    def get(self, key: K, /, default: V | T) -> V | T: ...

    def get(self, key: K, /, default: Any = None) -> Any:
        """`Mapping` would raise and catch a KeyError, which takes longer than all the rest."""
        at = hash(key)
        return self._rows[(at >> _BITS) % ROWS][at % WIDTH].get(key, default)

    def __contains__(self, key: object) -> bool:
        at = hash(key)
        return key in self._rows[(at >> _BITS) % ROWS][at % WIDTH]

    def __iter__(self) -> Iterator[K]:
        return chain.from_iterable(chain.from_iterable(self._rows))

    def __len__(self) -> int:
        return self._count

    def with_item(self, key: K, value: V) -> FrozenMap[K, V]:
        at = hash(key)
        shard = self._rows[(at >> _BITS) % ROWS][at % WIDTH]
        return self._next(at, {**shard, key: value}, self._count + (key not in shard))

    def without(self, key: K) -> FrozenMap[K, V]:
        """The same map when it has no such key."""
        at = hash(key)
        shard = self._rows[(at >> _BITS) % ROWS][at % WIDTH]
        if key not in shard:
            return self
        shard = shard.copy()
        del shard[key]
        return self._next(at, shard, self._count - 1)

    def _next(self, at: int, shard: dict[K, V], count: int) -> FrozenMap[K, V]:
        made: FrozenMap[K, V] = FrozenMap.__new__(FrozenMap)
        rows = self._rows.copy()
        row = rows[(at >> _BITS) % ROWS].copy()
        row[at % WIDTH] = shard
        rows[(at >> _BITS) % ROWS] = row
        made._rows = rows
        made._count = count
        return made
