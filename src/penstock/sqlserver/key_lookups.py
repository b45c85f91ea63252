"""Which keys a pull query asks for: equalities and IN of the key's columns with constants in its WHERE.

Anything else makes a scan; the condition itself is checked on every row in any case, so a lookup that is too
wide is slow but never wrong.
"""

from __future__ import annotations

from itertools import product
from typing import Any, Final

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.casts import can_cast, cast_function
from penstock.expressions.errors import EvaluationFailed
from penstock.plan.row_schemas import ColumnSchema

MOST_KEYS: Final = 1000


def keys_asked_for(
    where: e.Expression | None, columns: tuple[ColumnSchema, ...]
) -> list[tuple[Any, ...]] | None:
    """Values of the key's columns, one tuple for each key; none where all rows must be looked at."""
    if where is None or not columns:
        return None
    if isinstance(where, e.Logical) and where.operator == "OR":
        return _either([keys_asked_for(part, columns) for part in where.operands])
    wanted: dict[str, list[e.Literal]] = {}
    for part in where.operands if isinstance(where, e.Logical) else (where,):
        found = _values(part)
        if found is not None:
            wanted.setdefault(found[0], found[1])
    if any(column.name not in wanted for column in columns):
        return None
    chosen = ([_cast(each, column.type) for each in wanted[column.name]] for column in columns)
    keys = list(product(*chosen))
    return keys if len(keys) <= MOST_KEYS else None


def _either(parts: list[list[tuple[Any, ...]] | None]) -> list[tuple[Any, ...]] | None:
    found: dict[str, tuple[Any, ...]] = {}
    for part in parts:
        if part is None:
            return None
        found.update({repr(key): key for key in part})
    return list(found.values())


def _values(part: e.Expression) -> tuple[str, list[e.Literal]] | None:
    """A column and the constants that it may equal."""
    match part:
        case e.Comparison(operator="=", left=left, right=right):
            for one, other in ((left, right), (right, left)):
                name, value = _column(one), _constant(other)
                if name is not None and value is not None:
                    return name, [value]
        case e.In(of=of, items=items):
            name, constants = _column(of), [_constant(item) for item in items]
            if name is not None and all(each is not None for each in constants):
                return name, [each for each in constants if each is not None]
    return None


def _column(part: e.Expression) -> str | None:
    return part.name if isinstance(part, e.Column) else None


def _constant(part: e.Expression) -> e.Literal | None:
    return part if isinstance(part, e.Literal) and part.value is not None else None


def _cast(constant: e.Literal, kind: t.SqlType) -> Any:
    """The value as the column has it. What does not fit is no key, and so finds nothing."""
    if not can_cast(constant.kind, kind):
        return constant.value
    try:
        return cast_function(constant.kind, kind)(constant.value)
    except EvaluationFailed:
        return constant.value
