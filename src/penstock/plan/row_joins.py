"""What a join makes of two rows, and what it does to rows before they meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.kernels.record import Windowed
from penstock.plan.row_aggregates import key_columns


@dataclass(frozen=True)
class PrefixedRow:
    """(row) → the same row with a prefix before each column, so that two sources can be told apart."""

    prefix: str

    def __call__(self, row: dict[str, Any] | None) -> dict[str, Any] | None:
        if row is None:
            return None
        prefix = self.prefix
        return {prefix + name: value for name, value in row.items()}


@dataclass(frozen=True)
class JoinedRow:
    """(key, left, right) → the columns of both. A row that is missing leaves its columns null.

    `key` are columns that hold the key that both were joined by, however it was computed.
    """

    key: tuple[str, ...] = ()

    def __call__(self, key: Any, left: dict[str, Any] | None, right: dict[str, Any] | None) -> dict[str, Any]:
        row = {**(left or {}), **(right or {})}
        if self.key:
            row.update(key_columns(self.key, key))
        return row


@dataclass(frozen=True)
class MergedRow:
    """(left, right) → the columns of both, for joins of tables, where the key is given behind them."""

    def __call__(self, left: dict[str, Any] | None, right: dict[str, Any] | None) -> dict[str, Any]:
        return {**(left or {}), **(right or {})}


@dataclass(frozen=True)
class KeyedRow:
    """(key, row) → the row with the key in the given columns."""

    key: tuple[str, ...]

    def __call__(self, key: Any, row: dict[str, Any]) -> dict[str, Any]:
        bounds = {"WINDOWSTART": key.start, "WINDOWEND": key.end} if isinstance(key, Windowed) else {}
        return {**row, **bounds, **key_columns(self.key, key)}
