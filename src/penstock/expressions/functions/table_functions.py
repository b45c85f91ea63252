"""Table functions: one value becomes many rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from penstock.expressions import types as t
from penstock.expressions.errors import EvaluationFailed, TypeMismatch

MAX_CUBE: Final = 16
"""Columns of CUBE_EXPLODE: it makes 2 to this power of rows."""

Rows = Callable[[Any], list[Any]]


def table_function(name: str, kinds: Sequence[t.SqlType]) -> tuple[t.SqlType, Rows]:
    """The type of a row, and what makes rows of a value."""
    if name not in TABLE_FUNCTIONS:
        raise TypeMismatch(f"There is no table function {name}")
    if len(kinds) != 1 or not isinstance(kinds[0], t.Array):
        shown = ", ".join(map(str, kinds))
        raise TypeMismatch(
            f"Function '{name.lower()}' does not accept parameters ({shown}).\n"
            f"Valid alternatives are:\n{name}(ARRAY<T>) -> {'ARRAY<T>' if name == 'CUBE_EXPLODE' else 'T'}\n"
            "For detailed information on a function run: DESCRIBE FUNCTION <Function-Name>;"
        )
    kind, rows = TABLE_FUNCTIONS[name]
    return kind(kinds[0]), rows


def _explode(items: list[Any] | None) -> list[Any]:
    """A row for each item."""
    return list(items or ())


def _cube(items: list[Any] | None) -> list[Any]:
    """A row for each way to replace columns by null; columns that are null stay so."""
    if items is None:
        return []
    known = [at for at, item in enumerate(items) if item is not None]
    if len(known) > MAX_CUBE:
        raise EvaluationFailed(f"CUBE_EXPLODE takes {MAX_CUBE} columns at most, not {len(known)}")
    rows = []
    for choice in range(2 ** len(known)):
        kept = {at for bit, at in enumerate(reversed(known)) if choice >> bit & 1}
        rows.append([item if at in kept else None for at, item in enumerate(items)])
    return rows


TABLE_FUNCTIONS: Final[dict[str, tuple[Callable[[t.Array], t.SqlType], Rows]]] = {
    "EXPLODE": (lambda kind: kind.item, _explode),
    "CUBE_EXPLODE": (lambda kind: kind, _cube),
}
