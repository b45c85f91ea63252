"""Rows that an aggregation changes again and again within a step, kept as values. They become bytes
once, when the step ends or another reader looks.

Used only where changes are emitted at the end of a step and no listener wants every put. The values belong to
the aggregation: its function may change them in place, since what it returns takes their place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.kernels.cells import Cells


class LiveRows:
    """Of one store; `write` makes bytes of a row."""

    __slots__ = ("_rows", "_write", "get")

    def __init__(self, cells: Cells, write: Callable[[bytes, Any, int], None]) -> None:
        self._rows: dict[bytes, tuple[Any, int]] = {}
        self.get = self._rows.get
        """Value and time of a row, if it is live; a value that is none stands for a row that is gone."""
        self._write = write
        cells.settle = self.settle

    def put(self, raw: bytes, value: Any, timestamp: int) -> None:
        self._rows[raw] = (value, timestamp)

    def forget(self, raw: bytes) -> None:
        self._rows.pop(raw, None)

    def settle_row(self, raw: bytes) -> None:
        row = self._rows.pop(raw, None)
        if row is not None:
            self._write(raw, *row)

    def settle(self) -> None:
        rows = list(self._rows.items())
        self._rows.clear()
        for raw, (value, timestamp) in rows:
            self._write(raw, value, timestamp)
