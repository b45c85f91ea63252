"""Functions that give rows their key: for GROUP BY, PARTITION BY and joins on expressions.

A single key column is the key itself, several are a mapping by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from penstock.expressions.environment import NOWHERE, Environment
from penstock.expressions.evaluating import Evaluate, evaluator
from penstock.expressions.tree import Expression

Compute = Callable[[Any], Any]


@dataclass(frozen=True)
class RowKey:
    """(key, row) → the new key. With `needs_all`, a row without one of its parts has none."""

    columns: tuple[tuple[str, Expression], ...]
    needs_all: bool = False

    def __call__(self, key: Any, row: Any) -> Any:
        return self._compute(row)

    @cached_property
    def _compute(self) -> Compute:
        return self._made(NOWHERE)

    def bound(self, environment: Environment) -> Callable[..., Any]:
        compute = self._made(environment)
        return lambda key, row: compute(row)

    def _made(self, environment: Environment) -> Compute:
        parts = [(name, evaluator(part, environment)) for name, part in self.columns]
        if not parts:
            return lambda row: None
        several, single = self._several(parts), parts[0][1]
        compute = single if len(parts) == 1 else several
        return lambda row: None if row is None else compute(row)

    def _several(self, parts: list[tuple[str, Evaluate]]) -> Compute:
        needs_all = self.needs_all

        def compute(row: Any) -> Any:
            key = {name: part(row) for name, part in parts}
            return None if needs_all and None in key.values() else key

        return compute

    def __getstate__(self) -> dict[str, Any]:
        return {"columns": self.columns, "needs_all": self.needs_all}


@dataclass(frozen=True)
class RowGroup(RowKey):
    """(key, row) → the pair under which a table's row is grouped anew."""

    def __call__(self, key: Any, row: Any) -> Any:
        return self._compute(row), row

    def bound(self, environment: Environment) -> Callable[..., Any]:
        compute = self._made(environment)
        return lambda key, row: (compute(row), row)


@dataclass(frozen=True)
class ForeignKey(RowKey):
    """(row) → the key of the other table's row."""

    def __call__(self, row: Any) -> Any:  # type: ignore[override]
        return self._compute(row)

    def bound(self, environment: Environment) -> Callable[..., Any]:
        return self._made(environment)
