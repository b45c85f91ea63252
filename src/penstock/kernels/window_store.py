"""Window stores: values by key and the start of a window, for as long as the store's retention says.

The key of a cell is Kafka's: the key, the start, a sequence number. Expired windows are not read, exact to
the millisecond. As with Kafka's segments, their memory is freed a segment at a time.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final

from penstock.kernels.cells import Cell, Cells
from penstock.kernels.context import TaskState
from penstock.kernels.live_rows import LiveRows
from penstock.kernels.record import UNKNOWN_TIME, Stamped, Windowed
from penstock.kernels.serdes import Serde, from_bytes, to_bytes
from penstock.kernels.sorted_keys import SortedKeys

_SUFFIX: Final = struct.Struct(">qi")
suffix = _SUFFIX.pack
"""How a cell's key goes on behind the key: start and sequence number."""
_LONG: Final = struct.Struct(">q")
_LAST_SEQUENCE: Final = 2**31 - 1
SMALLEST_SEGMENT_MS: Final = 60_000


class Expiry:
    """Which times a store still has: shared by window and session stores."""

    def __init__(self, cells: Cells, retention_ms: int, marks: dict[str, int]) -> None:
        self._cells, self.retention_ms, self._marks = cells, retention_ms, marks
        self._segment_ms = max(retention_ms // 2, SMALLEST_SEGMENT_MS)
        self._by_time = SortedKeys()  # the time's eight bytes, then the cell's key
        self._observe(marks.get("observed", UNKNOWN_TIME))

    def segment(self, timestamp: int) -> int:
        return timestamp // self._segment_ms

    def _observe(self, observed: int) -> None:
        self.observed = observed  # the newest time that was put, as the marks have it
        self.oldest_readable = observed - self.retention_ms + 1
        self._oldest_kept = self.segment(observed - self.retention_ms) * self._segment_ms

    def admits(self, timestamp: int) -> bool:
        """Take note of a time, free what it makes too old; false if it is itself too old to be stored."""
        if timestamp > self.observed:
            self._marks["observed"] = timestamp
            self._observe(timestamp)
            self._free()
        return timestamp >= self._oldest_kept

    def put(self, raw: bytes, time: int, value: bytes | None, timestamp: int) -> None:
        there = self._cells.get(raw) is not None
        if (value is not None) != there:
            entry = _LONG.pack(max(time, 0)) + raw
            (self._by_time.add if value is not None else self._by_time.remove)(entry)
        self._cells.put(raw, value, timestamp)

    def between(self, first: int, last: int, oldest: int | None = None) -> Iterator[tuple[bytes, Cell]]:
        """Cells by their time, then by their key, from the oldest that may be read."""
        self._cells.settle()
        first = max(first, self.oldest_readable if oldest is None else oldest, 0)
        if last < first:
            return
        beyond = None if last >= 2**63 - 1 else _LONG.pack(last + 1)  # no entry is as short as that
        for entry in self._by_time.between(_LONG.pack(first), beyond):
            cell = self._cells.get(entry[8:])
            if cell is not None:
                yield entry[8:], cell

    def index(self, times: Iterator[tuple[bytes, int]]) -> None:
        """Make the index anew, after the cells and marks were loaded."""
        self._observe(self._marks.get("observed", UNKNOWN_TIME))
        self._by_time = SortedKeys(_LONG.pack(max(time, 0)) + raw for raw, time in times)

    def _free(self) -> None:
        while (entry := self._by_time.first()) is not None:
            if _LONG.unpack_from(entry)[0] >= self._oldest_kept:
                return
            self._by_time.remove(entry)
            self._cells.forget(entry[8:])


class WindowStore:
    """Values by key and window start. With `retain_duplicates` each put adds one more, as stream joins need
    it.
    """

    def __init__(
        self,
        cells: Cells,
        key_serde: Serde[Any],
        value_serde: Serde[Any],
        task: TaskState,
        marks: dict[str, int],
        *,
        size_ms: int,
        retention_ms: int,
        retain_duplicates: bool = False,
    ) -> None:
        self.name, self.topic = cells.name, cells.topic
        self.cells = cells
        self._key, self._value, self._task, self._marks = key_serde, value_serde, task, marks
        self._size_ms, self._duplicates = size_ms, retain_duplicates
        self._expiry = Expiry(cells, retention_ms, marks)
        self.live = None if cells.reports_puts or retain_duplicates else LiveRows(cells, self._settle)

    @property
    def key_serde(self) -> Serde[Any]:
        return self._key

    @property
    def observed(self) -> int:
        """The newest start that was put."""
        return self._expiry.observed

    @property
    def retention_ms(self) -> int:
        return self._expiry.retention_ms

    def loaded(self) -> None:
        """Called when the cells were loaded."""
        self._expiry.index((raw, _SUFFIX.unpack(raw[-12:])[0]) for raw, _ in self.cells.snapshot())

    def prefix(self, key: Any) -> bytes:
        """What the cells of a key begin with."""
        raw = to_bytes(self._key, self.topic, key)
        assert raw is not None, f"{self.name} takes no null keys"
        return raw

    def raw_key(self, key: Any, start: int, sequence: int = 0) -> bytes:
        return self.prefix(key) + _SUFFIX.pack(start, sequence)

    def put(self, key: Any, value: Any, start: int, timestamp: int | None = None) -> None:
        if self._duplicates and value is None:
            return  # Kafka does not even note the time
        if not self._expiry.admits(start):
            return
        sequence = 0
        if self._duplicates:
            sequence = self._marks["sequence"] = self._marks.get("sequence", 0) % _LAST_SEQUENCE + 1
        when = self._task.record_time if timestamp is None else timestamp
        raw = self.raw_key(key, start, sequence)
        if self.live is not None:
            self.live.forget(raw)
        self._expiry.put(raw, start, to_bytes(self._value, self.topic, value), when)

    def write(self, raw: bytes, value: Any, start: int, timestamp: int) -> None:
        """`put` for a cell's key, in a store without duplicates."""
        if self._expiry.admits(start):
            if self.live is not None:
                self.live.forget(raw)
            self._expiry.put(raw, start, to_bytes(self._value, self.topic, value), timestamp)

    def held(self, raw: bytes, start: int) -> tuple[Any, int] | None:
        """As `read`, for a caller that will `hold` the new row."""
        assert self.live is not None
        row = self.live.get(raw)
        if row is None:
            return self.read(raw, start)
        return None if row[0] is None or start < self._expiry.oldest_readable else row

    def hold(self, raw: bytes, value: Any, start: int, timestamp: int) -> None:
        """`write` that makes bytes later."""
        assert self.live is not None
        if self._expiry.admits(start):
            self.live.put(raw, value, timestamp)

    def _settle(self, raw: bytes, value: Any, timestamp: int) -> None:
        start = _SUFFIX.unpack(raw[-12:])[0]
        if self._expiry.admits(start):  # it may have expired within the step
            self._expiry.put(raw, start, to_bytes(self._value, self.topic, value), timestamp)

    def restore(self, raw: bytes, value: bytes | None, timestamp: int) -> None:
        """Take a record of the changelog."""
        start = _SUFFIX.unpack(raw[-12:])[0]
        if self._expiry.admits(start):
            self._expiry.put(raw, start, value, timestamp)

    def fetch(self, key: Any, start: int) -> Any:
        found = self.fetch_stamped(key, start)
        return None if found is None else found.value

    def fetch_stamped(self, key: Any, start: int) -> Stamped | None:
        return self.read(self.raw_key(key, start), start)

    def read(self, raw: bytes, start: int) -> Stamped | None:
        """The row of a cell's key and the start in it. Each call makes the value anew."""
        if self.live is not None:
            self.live.settle_row(raw)
        cell = self.cells.get(raw)
        if cell is None or start < self._expiry.oldest_readable:
            return None
        value, timestamp = cell
        return Stamped(from_bytes(self._value, self.topic, value), timestamp)

    def fetch_range(
        self, key: Any, first: int, last: int, *, reverse: bool = False
    ) -> Iterator[tuple[int, Stamped]]:
        """Start and value of the key's windows that begin from `first` to `last`, both included."""
        first = max(first, self._expiry.oldest_readable, 0)
        if last < first:
            return
        low, high = self.raw_key(key, first), self.raw_key(key, last, _LAST_SEQUENCE)
        for raw, cell in self.cells.scan(low, high, reverse=reverse):
            if len(raw) == len(low) and raw[:-12] == low[:-12]:  # not of a longer key in between
                yield _SUFFIX.unpack(raw[-12:])[0], self._stamped(cell)

    def fetch_all(self, first: int, last: int) -> Iterator[tuple[Windowed, Any]]:
        """Windows of all keys that begin from `first` to `last`, by Kafka's segments and keys."""
        found = sorted(self._expiry.between(first, last), key=lambda pair: (self._segment(pair[0]), pair[0]))
        for raw, cell in found:
            yield self._windowed(raw), self._stamped(cell).value

    def fetch_closed(self, first: int, last: int) -> Iterator[tuple[Windowed, Stamped]]:
        """The same by time, then by key: the order in which final results are emitted."""
        # A millisecond more than other reads have, as in Kafka: without grace a window closes as it expires.
        oldest = self._expiry.oldest_readable - 1
        for raw, cell in list(self._expiry.between(first, last, oldest)):
            yield self._windowed(raw), self._stamped(cell)

    def all(self) -> Iterator[tuple[Windowed, Any]]:
        return self.fetch_all(0, 2**63 - 1)

    def _segment(self, raw: bytes) -> int:
        return self._expiry.segment(_SUFFIX.unpack(raw[-12:])[0])

    def _windowed(self, raw: bytes) -> Windowed:
        start = _SUFFIX.unpack(raw[-12:])[0]
        return Windowed(from_bytes(self._key, self.topic, raw[:-12]), start, start + self._size_ms)

    def _stamped(self, cell: Cell) -> Stamped:
        return Stamped(from_bytes(self._value, self.topic, cell.value), cell.timestamp)
