"""Lists whose items stand for one another (IN, ARRAY, MAP): one type for all of them.

Numbers are widened. A string literal among items of another type becomes one of that type, as in PostgreSQL,
and an error where its text is no such value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.casts import can_cast
from penstock.expressions.errors import ExpressionError, TypeMismatch
from penstock.expressions.evaluating import compiled
from penstock.sql import syntax as x
from penstock.sql.message_text import shown

_TRUE: Final = ("true", "yes", "on", "t", "y", "tru", "tr", "ye", "1")
_FALSE: Final = ("false", "no", "off", "f", "n", "fals", "fal", "fa", "0")


def coerced(nodes: Sequence[x.Expression], parts: Sequence[e.Expression]) -> list[e.Expression]:
    """The items, those that must be changed with a cast or as another literal."""
    kind: t.SqlType = t.NULL
    for node, part in zip(nodes, parts, strict=True):
        if part.type != t.NULL and not _is_text_literal(part):
            kind = part.type if kind == t.NULL else _common(kind, part.type, node)
    if kind == t.NULL:
        return list(parts)
    return [_as(node, part, kind) for node, part in zip(nodes, parts, strict=True)]


def _is_text_literal(part: e.Expression) -> bool:
    return isinstance(part, e.Literal) and part.type == t.STRING


def _common(one: t.SqlType, other: t.SqlType, node: x.Expression) -> t.SqlType:
    if one == other:
        return one
    if t.is_numeric(one) and t.is_numeric(other):
        return t.widened(one, other)
    if isinstance(one, t.Array) and isinstance(other, t.Array):
        return t.Array(_common(one.item, other.item, node))
    if isinstance(one, t.Map) and isinstance(other, t.Map):
        return t.Map(_common(one.key, other.key, node), _common(one.value, other.value, node))
    if isinstance(one, t.Struct) and isinstance(other, t.Struct):
        names = [field.name for field in one.fields]
        names += [field.name for field in other.fields if field.name not in names]
        pairs = ((name, one.field(name), other.field(name)) for name in names)
        return t.struct_of(
            (name, a or b or t.NULL) if a is None or b is None else (name, _common(a, b, node))
            for name, a, b in pairs
        )
    raise _no_operator(one, other, node)


def _no_operator(one: t.SqlType, other: t.SqlType, node: x.Expression) -> TypeMismatch:
    return TypeMismatch(
        f"operator does not exist: {one} = {other} ({shown(node)})\n"
        "Hint: You might need to add explicit type casts."
    )


def _as(node: x.Expression, part: e.Expression, kind: t.SqlType) -> e.Expression:
    if part.type in (kind, t.NULL):
        return part
    if isinstance(part, e.Literal) and part.type == t.STRING:
        return _from_text(node, part, kind)
    if not can_cast(part.type, kind):
        raise _no_operator(kind, part.type, node)
    return e.Cast(part, kind)


def _from_text(node: x.Expression, part: e.Literal, kind: t.SqlType) -> e.Expression:
    wrong = TypeMismatch(f'invalid input syntax for type {kind}: "{part.value}"')
    if kind == t.BOOLEAN:
        text = part.value.strip().lower()
        if text not in (*_TRUE, *_FALSE):
            raise wrong
        return e.TRUE if text in _TRUE else e.FALSE
    if not can_cast(t.STRING, kind) or isinstance(kind, t.Array | t.Map | t.Struct):
        raise _no_operator(kind, t.STRING, node)
    if t.is_numeric(kind):
        kind = _number_type(part.value, kind, wrong)
    cast = e.Cast(part, kind)
    try:
        compiled(cast)({})
    except ExpressionError:
        raise wrong from None
    return cast


def _number_type(text: str, kind: t.SqlType, wrong: TypeMismatch) -> t.SqlType:
    """A text may hold a number of a wider type than those around it."""
    from decimal import Decimal, InvalidOperation

    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        raise wrong from None
    if kind in (t.INTEGER, t.BIGINT):
        if value != value.to_integral_value():
            raise wrong
        if kind == t.INTEGER and not -(2**31) <= value < 2**31:
            return t.BIGINT
    return kind
