"""The state of one store as bytes: what every store is made of, and what a host saves, logs and loads.

A host takes the changes since it last asked (`take_changes`) as the delta of a version, or everything
(`snapshot`), and loads either again. What a changelog gets is the same: a key, its bytes or a tombstone,
and a time. Reading and writing files or topics is the host's part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from penstock.kernels.sorted_keys import SortedKeys


class Cell(NamedTuple):
    value: bytes
    timestamp: int


Entry = tuple[bytes, Cell | None]
OnPut = Callable[[str, bytes, bytes | None, int], None]


def _nothing() -> None:
    """There is nothing to settle."""


class Cells:
    """A map from bytes to bytes that can be scanned in the order of its keys and reports what changed."""

    __slots__ = ("_cells", "_dirty", "_keys", "_on_put", "get", "name", "settle", "topic")

    def __init__(self, name: str, on_put: OnPut | None = None, topic: str | None = None) -> None:
        self.name = name
        self.topic = topic or name
        """The name of its changelog, which serdes get as their topic, as in Kafka."""
        self._cells: dict[bytes, Cell] = {}
        self.get: Callable[[bytes], Cell | None] = self._cells.get  # the dictionary stays the same one
        self._keys: SortedKeys | None = (
            None  # made by the first scan; a store that is never scanned needs none
        )
        self._dirty: dict[bytes, bool] = {}  # what changed, and whether the changelog gets it
        self._on_put = on_put
        self.settle: Callable[[], None] = _nothing
        """Called before the cells are looked at as a whole: a store may have rows that are no bytes yet."""

    @property
    def reports_puts(self) -> bool:
        return self._on_put is not None

    def __len__(self) -> int:
        self.settle()
        return len(self._cells)

    def put(self, key: bytes, value: bytes | None, timestamp: int) -> None:
        """Set a cell, or remove it with a tombstone in the changelog."""
        if value is None:
            self._remove(key)
        else:
            if self._keys is not None and key not in self._cells:
                self._keys.add(key)
            self._cells[key] = Cell(value, timestamp)
        self._dirty[key] = True
        if self._on_put is not None:
            self._on_put(self.name, key, value, timestamp)

    def forget(self, key: bytes) -> None:
        """Remove a cell that expired. The changelog needs no record of it: its own retention deletes it."""
        self._remove(key)
        self._dirty[key] = False

    def _remove(self, key: bytes) -> None:
        if self._cells.pop(key, None) is not None and self._keys is not None:
            self._keys.remove(key)

    def scan(
        self, low: bytes | None = None, high: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, Cell]]:
        """Cells with keys from `low` to `high`, both included; those removed meanwhile are left out."""
        self.settle()
        if self._keys is None:
            self._keys = SortedKeys(self._cells)
        for key in self._keys.between(low, high, reverse=reverse):
            cell = self._cells.get(key)
            if cell is not None:
                yield key, cell

    def changelog_entries(self) -> list[Entry]:
        """The entries for the changelog among the changes that `take_changes` will give."""
        self.settle()
        return [(key, self._cells.get(key)) for key, logged in self._dirty.items() if logged]

    def take_changes(self) -> list[Entry]:
        """What changed since this was last asked; `None` stands for a cell that is gone."""
        self.settle()
        changes = [(key, self._cells.get(key)) for key in self._dirty]
        self._dirty.clear()
        return changes

    def discard_changes(self) -> None:
        """For a copy that follows another one: its changes are not needed."""
        self._dirty.clear()

    def snapshot(self) -> list[Entry]:
        self.settle()
        return list(self._cells.items())

    def load(self, entries: Iterable[Entry]) -> None:
        """Lay a snapshot or a delta over what is there; nothing of it counts as a change."""
        for key, cell in entries:
            if cell is None:
                self._cells.pop(key, None)
            else:
                self._cells[key] = cell
        self._keys = None
