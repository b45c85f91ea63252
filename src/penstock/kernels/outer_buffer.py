"""Records of a left or outer join of streams that have no match yet, in the order in which their windows
close.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from penstock.kernels.cells import Cells
from penstock.kernels.parts import join_parts, split_parts
from penstock.kernels.serdes import Serde, from_bytes, to_bytes

_PREFIX: Final = struct.Struct(">qb")


class Unmatched(NamedTuple):
    key: Any
    timestamp: int
    is_left: bool
    values: list[Any]  # several records may have one key and one time
    raw: bytes


class OuterBuffer:
    """Ordered by time, then right before left, then by key, as Kafka's store is."""

    def __init__(
        self,
        cells: Cells,
        key_serde: Serde[Any],
        left_serde: Serde[Any],
        right_serde: Serde[Any],
        marks: dict[str, int],
    ) -> None:
        self.name, self.topic = cells.name, cells.topic
        self.cells = cells
        self.marks = marks  # "stream_time" and "min_time" of the join, which both its sides move
        self._key, self._sides = key_serde, (right_serde, left_serde)

    def add(self, key: Any, timestamp: int, is_left: bool, value: Any) -> None:
        raw = self._raw(key, timestamp, is_left)
        there = self.cells.get(raw)
        added = join_parts(to_bytes(self._sides[is_left], self.topic, value))
        self.cells.put(raw, added if there is None else there.value + added, timestamp)

    def remove(self, key: Any, timestamp: int, is_left: bool) -> None:
        """The record met another one after all."""
        self.remove_raw(self._raw(key, timestamp, is_left), timestamp)

    def remove_raw(self, raw: bytes, timestamp: int) -> None:
        if self.cells.get(raw) is not None:
            self.cells.put(raw, None, timestamp)

    def all(self) -> Iterator[Unmatched]:
        for raw, cell in self.cells.scan():
            timestamp, is_left = _PREFIX.unpack_from(raw)
            serde = self._sides[is_left]
            values = [from_bytes(serde, self.topic, part) for part in split_parts(cell.value)]
            key = from_bytes(self._key, self.topic, raw[_PREFIX.size :])
            yield Unmatched(key, timestamp, bool(is_left), values, raw)

    def _raw(self, key: Any, timestamp: int, is_left: bool) -> bytes:
        raw = to_bytes(self._key, self.topic, key)
        assert raw is not None, f"{self.name} takes no null keys"
        return _PREFIX.pack(timestamp, is_left) + raw
