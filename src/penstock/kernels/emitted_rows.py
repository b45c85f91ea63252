"""Rows as they were last emitted, while changes are held back until the end of a step.

A join of two tables reads the other side this way. Each side's change is then joined with what the other side
has emitted, as if one side had changed after the other. Otherwise two rows that are deleted in one step would
give no result: each would find the other one gone already.
"""

from __future__ import annotations

from typing import Any

from penstock.kernels.context import Held
from penstock.kernels.record import UNKNOWN_TIME, Stamped, Windowed


class EmittedRows:
    """Stands for a store in a view."""

    def __init__(self, store: Any, held: dict[bytes, Held]) -> None:
        self._store, self._held = store, held

    def get_stamped(self, key: Any) -> Stamped | None:
        return self._emitted(self._store.raw_key(key), lambda: self._store.get_stamped(key))

    def fetch_stamped(self, key: Any, start: int) -> Stamped | None:
        return self._emitted(self._store.raw_key(key, start), lambda: self._store.fetch_stamped(key, start))

    def fetch_session(self, key: Any, start: int, end: int) -> Any:
        held = self._held.get(self._store.raw_key(Windowed(key, start, end)))
        return self._store.fetch_session(key, start, end) if held is None else held[0]

    def prior_of(self, key: Any) -> Any:
        return self._store.prior_of(key)

    def _emitted(self, raw: bytes, read: Any) -> Stamped | None:
        held = self._held.get(raw)
        if held is None:
            row: Stamped | None = read()
            return row
        return None if held[0] is None else Stamped(held[0], UNKNOWN_TIME)
