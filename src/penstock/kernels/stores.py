"""Key-value stores over cells: what tables and processors read and write.

Keys are ordered by their bytes, as in Kafka Streams. Values are written as bytes at once, so an aggregate
that is changed in place by its function does not change what the store has.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final

from penstock.kernels.cells import Cell, Cells
from penstock.kernels.context import TaskState
from penstock.kernels.live_rows import LiveRows
from penstock.kernels.record import UNKNOWN_TIME, Stamped
from penstock.kernels.serdes import Serde, from_bytes, to_bytes

_LONG: Final = struct.Struct(">q")
_NOTHING: Final = b"\x00"  # the version of a row that was deleted
_VERSION_BYTES: Final = 12  # behind the row's key: its length and the version's time


class KeyValueStore:
    """One value a key, with the time of the record that made it."""

    def __init__(self, cells: Cells, key_serde: Serde[Any], value_serde: Serde[Any], task: TaskState) -> None:
        self.name, self.topic = cells.name, cells.topic
        self.cells = cells
        self._key, self._value, self._task = key_serde, value_serde, task
        self.live = None if cells.reports_puts else LiveRows(cells, self._write)

    @property
    def key_serde(self) -> Serde[Any]:
        return self._key

    def raw_key(self, key: Any) -> bytes:
        raw = to_bytes(self._key, self.topic, key)
        assert raw is not None, f"{self.name} takes no null keys"
        return raw

    def get(self, key: Any) -> Any:
        found = self.get_stamped(key)
        return None if found is None else found.value

    def get_stamped(self, key: Any) -> Stamped | None:
        return self.read(self.raw_key(key))

    def read(self, raw: bytes) -> Stamped | None:
        """The row of a key that is bytes already. Each call makes the value anew."""
        if self.live is not None:
            self.live.settle_row(raw)
        cell = self.cells.get(raw)
        if cell is None:
            return None
        value, timestamp = cell
        return Stamped(from_bytes(self._value, self.topic, value), timestamp)

    def put(self, key: Any, value: Any, timestamp: int | None = None) -> bool | None:
        """Set or, with `None`, delete. True: it is the newest version now, as it always is but in a
        versioned store.
        """
        return self.write(self.raw_key(key), value, timestamp)

    def write(self, raw: bytes, value: Any, timestamp: int | None = None) -> bool | None:
        """`put` for a key that is bytes already."""
        if self.live is not None:
            self.live.forget(raw)
        self._write(raw, value, self._task.record_time if timestamp is None else timestamp)
        return True

    def _write(self, raw: bytes, value: Any, timestamp: int) -> None:
        self.cells.put(raw, to_bytes(self._value, self.topic, value), timestamp)

    def held(self, raw: bytes) -> tuple[Any, int] | None:
        """As `read`, for a caller that will `hold` the new row."""
        assert self.live is not None
        row = self.live.get(raw)
        if row is None:
            return self.read(raw)
        return None if row[0] is None else row

    def hold(self, raw: bytes, value: Any, timestamp: int) -> bool | None:
        """`write` that makes bytes later."""
        assert self.live is not None
        self.live.put(raw, value, timestamp)
        return True

    def restore(self, raw: bytes, value: bytes | None, timestamp: int) -> None:
        """Take a record of the changelog."""
        self.cells.put(raw, value, timestamp)

    def put_if_absent(self, key: Any, value: Any) -> Any:
        found = self.get(key)
        if found is None:
            self.put(key, value)
        return found

    def delete(self, key: Any) -> Any:
        found = self.get(key)
        self.put(key, None)
        return found

    def all(self, *, reverse: bool = False) -> Iterator[tuple[Any, Any]]:
        return self.range(reverse=reverse)

    def range(self, low: Any = None, high: Any = None, *, reverse: bool = False) -> Iterator[tuple[Any, Any]]:
        """Pairs from `low` to `high`, both included, in the order of the keys' bytes."""
        first = None if low is None else self.raw_key(low)
        last = None if high is None else self.raw_key(high)
        for raw, cell in self.cells.scan(first, last, reverse=reverse):
            yield from_bytes(self._key, self.topic, raw), self._stamped(cell).value

    def prefix_scan(self, prefix: bytes) -> Iterator[tuple[Any, Any]]:
        """Pairs whose keys' bytes begin with `prefix`."""
        for raw, cell in self.cells.scan(prefix, None):
            if not raw.startswith(prefix):
                return
            yield from_bytes(self._key, self.topic, raw), self._stamped(cell).value

    def combined_prefix(self, foreign_key: Any) -> bytes:
        """Where the subscriptions of a foreign key begin; the key's serde must be made for it."""
        prefix: bytes = self._key.prefix(self.topic, foreign_key)  # type: ignore[attr-defined]
        return prefix

    def approximate_num_entries(self) -> int:
        return len(self.cells)

    def _stamped(self, cell: Cell) -> Stamped:
        return Stamped(from_bytes(self._value, self.topic, cell.value), cell.timestamp)


class VersionedStore(KeyValueStore):
    """Every version of a row for `history_ms` behind the newest time seen; a tombstone is a version too.

    A cell's key is the row's key, its length and the version's time, so that versions of a row lie side by
    side.
    """

    def __init__(
        self,
        cells: Cells,
        key_serde: Serde[Any],
        value_serde: Serde[Any],
        task: TaskState,
        history_ms: int,
        marks: dict[str, int],
    ) -> None:
        super().__init__(cells, key_serde, value_serde, task)
        self.live = None  # a row is many cells
        self.history_ms = history_ms
        self._marks = marks  # "observed": the newest time that was put

    def write(self, raw: bytes, value: Any, timestamp: int | None = None) -> bool | None:
        """Set the value as of `timestamp`. False: a newer version is there already. None: beyond history,
        not put.
        """
        when = self._task.record_time if timestamp is None else timestamp
        observed = self._marks["observed"] = max(self._marks.get("observed", UNKNOWN_TIME), when)
        if when < observed - self.history_ms:
            return None
        newer = next(self._versions(raw, when + 1, None), None)
        data = to_bytes(self._value, self.topic, value)
        self.cells.put(self._version_key(raw, when), _NOTHING if data is None else b"\x01" + data, when)
        self._expire(raw, observed - self.history_ms)
        return newer is None

    def restore(self, raw: bytes, value: bytes | None, timestamp: int) -> None:
        self.cells.put(raw, value, timestamp)
        if value is None:  # it expired; when, says nothing
            return
        self._marks["observed"] = observed = max(self._marks.get("observed", UNKNOWN_TIME), timestamp)
        self._expire(raw[:-_VERSION_BYTES], observed - self.history_ms)

    def read(self, raw: bytes) -> Stamped | None:
        return self._read_as_of(raw, None)

    def get_as_of(self, key: Any, timestamp: int | None) -> Stamped | None:
        """The version that held at `timestamp`; none if it held nothing then, or the time is beyond
        history.
        """
        if timestamp is not None and timestamp < self._marks.get("observed", UNKNOWN_TIME) - self.history_ms:
            return None
        return self._read_as_of(self.raw_key(key), timestamp)

    def _read_as_of(self, raw: bytes, timestamp: int | None) -> Stamped | None:
        for _, cell in self._versions(raw, None, timestamp, reverse=True):
            if cell.value == _NOTHING:
                return None
            return Stamped(from_bytes(self._value, self.topic, cell.value[1:]), cell.timestamp)
        return None

    def range(self, low: Any = None, high: Any = None, *, reverse: bool = False) -> Iterator[tuple[Any, Any]]:
        raise NotImplementedError(f"{self.name} is versioned: it answers get and get_as_of, no ranges")

    def _version_key(self, raw: bytes, timestamp: int) -> bytes:
        return raw + len(raw).to_bytes(4, "big") + _LONG.pack(max(timestamp, 0))

    def _versions(
        self, raw: bytes, low: int | None, high: int | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, Cell]]:
        first = self._version_key(raw, 0 if low is None else low)
        last = self._version_key(raw, 2**63 - 1 if high is None else high)
        return self.cells.scan(first, last, reverse=reverse)

    def _expire(self, raw: bytes, horizon: int) -> None:
        """Of the versions before `horizon` only the last one still says what held at it, unless that is
        nothing. The changelog gets them too: it is compacted, and no retention could know which are the last.
        """
        old = list(self._versions(raw, None, horizon))
        kept = 0 if old and old[-1][1].value == _NOTHING else 1
        for version, _ in old[: len(old) - kept]:
            self.cells.put(version, None, horizon)
