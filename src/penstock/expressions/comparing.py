"""Equality and order of values, by their types. The functions take values that are not null."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from penstock.expressions import types as t
from penstock.expressions.casts import cast_function
from penstock.expressions.numbers import exact_decimal

Compare = Callable[[Any, Any], bool]
Convert = Callable[[Any], Any]

_OPERATORS: Final[dict[str, Compare]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def comparison(name: str, left: t.SqlType, right: t.SqlType) -> Compare:
    """`=`, `<>`, `<`, `<=`, `>` or `>=` between values of two types."""
    compare = _OPERATORS[name]
    one, other = common_form(left, right)
    if left == right == t.STRING and name not in ("=", "<>"):
        one = other = utf16
    if one is None and other is None:
        return compare
    if one is not None and other is not None:
        return lambda a, b: compare(one(a), other(b))
    if one is not None:
        return lambda a, b: compare(one(a), b)
    assert other is not None
    return lambda a, b: compare(a, other(b))


def common_form(left: t.SqlType, right: t.SqlType) -> tuple[Convert | None, Convert | None]:
    """What makes both sides equal where they mean the same; none where a value is so already."""
    if isinstance(left, t.Decimal) or isinstance(right, t.Decimal):
        return (exact_decimal if left == t.DOUBLE else None), (exact_decimal if right == t.DOUBLE else None)
    if left == t.DOUBLE and t.is_whole(right):
        return None, float  # Java widens a long to a double, whatever digits that loses
    if right == t.DOUBLE and t.is_whole(left):
        return float, None
    if left == t.STRING and t.is_time(right):
        return cast_function(t.STRING, right), None
    if right == t.STRING and t.is_time(left):
        return None, cast_function(t.STRING, left)
    if left == t.DATE and right == t.TIMESTAMP:
        return cast_function(t.DATE, t.TIMESTAMP), None
    if left == t.TIMESTAMP and right == t.DATE:
        return None, cast_function(t.DATE, t.TIMESTAMP)
    return None, None


def utf16(text: str) -> bytes:
    """Java's order of text: by UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")
