"""Changes of a table that are held back, in the order in which they fall due."""

from __future__ import annotations

import struct
from typing import Any, Final, NamedTuple

from penstock.kernels.cells import Cells
from penstock.kernels.context import TaskState
from penstock.kernels.parts import join_parts, split_parts
from penstock.kernels.record import Change, Headers, Record
from penstock.kernels.serdes import Serde, from_bytes, to_bytes
from penstock.kernels.sorted_keys import SortedKeys

_LONG: Final = struct.Struct(">q")
_TWO_LONGS: Final = struct.Struct(">qq")


class Held(NamedTuple):
    """One cell: when it falls due, and the record that will then go on."""

    due: int
    record: Record
    prior: Any  # the row as those downstream still know it
    raw: bytes


class SuppressBuffer:
    """At most one change a key; later ones replace it in place, keeping its turn."""

    def __init__(self, cells: Cells, key_serde: Serde[Any], value_serde: Serde[Any], task: TaskState) -> None:
        self.name, self.topic = cells.name, cells.topic
        self.cells = cells
        self._key, self._value, self._task = key_serde, value_serde, task
        self._due = SortedKeys()  # the time's eight bytes, then the key
        self._sizes: dict[bytes, int] = {}
        self._bytes = 0

    def loaded(self) -> None:
        """Called when the cells were loaded."""
        self._due = SortedKeys()
        self._sizes = {}
        self._bytes = 0
        for raw, cell in self.cells.snapshot():
            assert cell is not None
            self._due.add(cell.value[4:12] + raw)
            self._resize(raw, cell.value)

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def size_bytes(self) -> int:
        """What the buffer's bound is about: Kafka's own reckoning of keys, values and contexts."""
        return self._bytes

    def put(self, due: int, record: Record) -> None:
        raw = to_bytes(self._key, self.topic, record.key) or b""
        change: Change = record.value
        new, old = self._raw(change.new), self._raw(change.old)
        there = self.cells.get(raw)
        prior = old
        if there is not None:
            times, prior, *_ = split_parts(there.value)
            assert times is not None
            due = _TWO_LONGS.unpack(times)[0]
        else:
            self._due.add(_LONG.pack(due) + raw)
        value = join_parts(_TWO_LONGS.pack(due, record.timestamp), prior, old, new, *_headers(record.headers))
        self._resize(raw, value)
        self.cells.put(raw, value, record.timestamp)

    def first(self) -> Held | None:
        entry = self._due.first()
        return None if entry is None else self._held(entry[8:])

    def remove_first(self) -> None:
        entry = self._due.first()
        assert entry is not None
        cell = self.cells.get(entry[8:])
        assert cell is not None
        self._due.remove(entry)
        self._bytes -= self._sizes.pop(entry[8:])
        self.cells.put(entry[8:], None, cell.timestamp)

    def prior_of(self, key: Any) -> tuple[bool, Any]:
        """Whether the key is held back, and the row as those downstream still know it."""
        raw = to_bytes(self._key, self.topic, key) or b""
        return (False, None) if self.cells.get(raw) is None else (True, self._held(raw).prior)

    def _held(self, raw: bytes) -> Held:
        cell = self.cells.get(raw)
        assert cell is not None
        times, prior, old, new, *headers = split_parts(cell.value)
        assert times is not None
        due, timestamp = _TWO_LONGS.unpack(times)
        change = Change(self._read(new), self._read(old))
        record = Record(from_bytes(self._key, self.topic, raw), change, timestamp, _pairs(headers))
        return Held(due, record, self._read(prior), raw)

    def _raw(self, value: Any) -> bytes | None:
        return to_bytes(self._value, self.topic, value)

    def _read(self, data: bytes | None) -> Any:
        return from_bytes(self._value, self.topic, data)

    def _resize(self, raw: bytes, value: bytes) -> None:
        _, prior, old, new, *headers = split_parts(value)
        old_bytes = 0 if old is None or old == prior else len(old)
        topic = "" if self._task.metadata is None else self._task.metadata.topic
        context = 20 + len(topic) + sum(len(part or b"") for part in headers)
        size = 8 + len(raw) + len(prior or b"") + old_bytes + len(new or b"") + context
        self._bytes += size - self._sizes.get(raw, 0)
        self._sizes[raw] = size


def _headers(headers: Headers) -> list[bytes | None]:
    return [part for name, value in headers for part in (name.encode(), value)]


def _pairs(parts: list[bytes | None]) -> Headers:
    return tuple(((parts[at] or b"").decode(), parts[at + 1]) for at in range(0, len(parts), 2))
