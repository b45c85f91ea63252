"""Session stores: values by key, start and end of a session. A cell's key is Kafka's: key, end, start."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final

from penstock.kernels.cells import Cells
from penstock.kernels.context import TaskState
from penstock.kernels.record import Windowed
from penstock.kernels.serdes import Serde, from_bytes, to_bytes
from penstock.kernels.window_store import Expiry

_SUFFIX: Final = struct.Struct(">qq")
_FOREVER: Final = 2**63 - 1


class SessionStore:
    def __init__(
        self,
        cells: Cells,
        key_serde: Serde[Any],
        value_serde: Serde[Any],
        task: TaskState,
        marks: dict[str, int],
        *,
        retention_ms: int,
    ) -> None:
        self.name, self.topic = cells.name, cells.topic
        self.cells = cells
        self._key, self._value, self._task = key_serde, value_serde, task
        self._expiry = Expiry(cells, retention_ms, marks)

    def loaded(self) -> None:
        """Called when the cells were loaded."""
        self._expiry.index((raw, _SUFFIX.unpack(raw[-16:])[0]) for raw, _ in self.cells.snapshot())

    def raw_key(self, session: Windowed) -> bytes:
        raw = to_bytes(self._key, self.topic, session.key)
        assert raw is not None, f"{self.name} takes no null keys"
        return raw + _SUFFIX.pack(session.end, session.start)

    def put(self, session: Windowed, value: Any) -> None:
        if self._expiry.admits(session.end):
            raw = to_bytes(self._value, self.topic, value)
            self._expiry.put(self.raw_key(session), session.end, raw, self._task.record_time)

    def restore(self, raw: bytes, value: bytes | None, timestamp: int) -> None:
        """Take a record of the changelog."""
        end = _SUFFIX.unpack(raw[-16:])[0]
        if self._expiry.admits(end):
            self._expiry.put(raw, end, value, timestamp)

    def remove(self, session: Windowed) -> None:
        self.put(session, None)

    def fetch_session(self, key: Any, start: int, end: int) -> Any:
        if end < self._expiry.oldest_readable:
            return None
        cell = self.cells.get(self.raw_key(Windowed(key, start, end)))
        return None if cell is None else from_bytes(self._value, self.topic, cell.value)

    def fetch(self, key: Any) -> Iterator[tuple[Windowed, Any]]:
        """All sessions of a key."""
        return self.find_sessions(key, 0, _FOREVER)

    def find_sessions(self, key: Any, earliest_end: int, latest_start: int) -> Iterator[tuple[Windowed, Any]]:
        """Sessions of a key that end at `earliest_end` or later and start at `latest_start` or earlier."""
        first = max(earliest_end, self._expiry.oldest_readable, 0)
        low = self.raw_key(Windowed(key, 0, first))
        high = self.raw_key(Windowed(key, _FOREVER, _FOREVER))
        for raw, cell in self.cells.scan(low, high):
            session = self._session(raw) if len(raw) == len(low) and raw[:-16] == low[:-16] else None
            if session is not None and session.start <= latest_start:
                yield session, from_bytes(self._value, self.topic, cell.value)

    def find_ended(self, first: int, last: int) -> Iterator[tuple[Windowed, Any]]:
        """Sessions of all keys that ended from `first` to `last`, by end, start and key."""
        found = list(self._expiry.between(first, last, oldest=0))
        found.sort(key=lambda pair: (pair[0][-16:], pair[0]))
        for raw, cell in found:
            yield self._session(raw), from_bytes(self._value, self.topic, cell.value)

    def all(self) -> Iterator[tuple[Windowed, Any]]:
        for raw, cell in self._expiry.between(0, _FOREVER):
            yield self._session(raw), from_bytes(self._value, self.topic, cell.value)

    def _session(self, raw: bytes) -> Windowed:
        end, start = _SUFFIX.unpack(raw[-16:])
        return Windowed(from_bytes(self._key, self.topic, raw[:-16]), start, end)
