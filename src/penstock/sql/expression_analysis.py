"""Typed expressions from syntax: names become columns, literals and calls get their types.

A type that does not fit is an `SqlError` at the place of the smallest expression that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.errors import TypeMismatch
from penstock.expressions.functions.resolving import Argument, LambdaArgument, call
from penstock.expressions.numbers import INT_MAX, INT_MIN, LONG_MAX
from penstock.sql import syntax as x
from penstock.sql.errors import SqlError
from penstock.sql.printing import name as shown_name

_SIMPLE: Final = {
    **{name: kind for name, kind in t.SIMPLE.items() if kind != t.NULL},
    "INT": t.INTEGER,
    "VARCHAR": t.STRING,
}
_TAKES_A_UNIT: Final = frozenset({"DATEADD", "DATESUB", "TIMEADD", "TIMESUB", "TIMESTAMPADD", "TIMESTAMPSUB"})


@dataclass(frozen=True)
class Scope:
    """What names mean."""

    columns: Mapping[str, t.SqlType]
    """Those that are named with their source stand here as `SOURCE.NAME`."""
    types: Mapping[str, t.SqlType]
    """Types of the user."""
    variables: Mapping[str, t.SqlType]
    """Parameters of the lambdas around."""
    source: str | None = None
    """The only source, or its alias: `SOURCE.NAME` means the column NAME then."""


def scope(
    columns: Mapping[str, t.SqlType],
    types: Mapping[str, t.SqlType] | None = None,
    source: str | None = None,
) -> Scope:
    return Scope(columns, types or {}, {}, source)


def typed(node: x.Expression, known: Scope) -> e.Expression:
    try:
        return _ANALYSERS[type(node)](node, known)
    except TypeMismatch as error:
        raise SqlError(str(error), *node.at) from error


def type_of(node: x.TypeName, types: Mapping[str, t.SqlType]) -> t.SqlType:
    """The type that a text names."""
    try:
        return _type_of(node, types)
    except TypeMismatch as error:
        raise SqlError(str(error), *node.at) from error


def _type_of(node: x.TypeName, types: Mapping[str, t.SqlType]) -> t.SqlType:
    inner = [type_of(part, types) for part in node.inner]
    if node.name == "STRUCT":
        return t.struct_of(zip(node.fields, inner, strict=True))
    if node.name == "ARRAY" and inner:
        return t.Array(inner[0])
    if node.name == "MAP" and inner:
        return t.Map(inner[0], inner[1])
    if node.name == "DECIMAL":
        if len(node.sizes) != 2:
            raise TypeMismatch("DECIMAL needs a precision and a scale: write DECIMAL(10, 2)")
        return t.Decimal(*node.sizes)
    if node.name in types:
        return types[node.name]
    if node.name in _SIMPLE and (not node.sizes or node.name == "VARCHAR"):
        return _SIMPLE[node.name]
    near = get_close_matches(node.name, [*_SIMPLE, *types, "DECIMAL", "ARRAY", "MAP", "STRUCT"], 1)
    hint = f" Did you mean {near[0]}?" if near else " CREATE TYPE makes one."
    raise TypeMismatch(f"Cannot resolve unknown type: {node.name}.{hint}")


def _whole(node: x.IntegerLiteral, known: Scope) -> e.Expression:
    if node.value > LONG_MAX:
        raise TypeMismatch(f"Invalid numeric literal: {node.value}: a BIGINT ends at {LONG_MAX}")
    return e.Literal(node.value, t.INTEGER if INT_MIN <= node.value <= INT_MAX else t.BIGINT)


def _decimal(node: x.DecimalLiteral, known: Scope) -> e.Expression:
    _, digits, exponent = node.value.as_tuple()
    assert isinstance(exponent, int)
    scale = -exponent
    return e.Literal(node.value, t.Decimal(max(len(digits), scale, 1), scale))


def _column(node: x.ColumnName, known: Scope) -> e.Expression:
    if node.source is None and node.name in known.variables:
        return e.Variable(node.name, known.variables[node.name])
    name = node.name if node.source in (None, known.source) else f"{node.source}.{node.name}"
    if name in known.columns:
        return e.Column(name, known.columns[name])
    near = get_close_matches(name, known.columns, 1)
    hint = f" Did you mean {shown_name(near[0])}?" if near else ""
    raise TypeMismatch(f"Column '{name}' cannot be resolved.{hint}")


def _binary(node: x.Binary, known: Scope) -> e.Expression:
    left, right = typed(node.left, known), typed(node.right, known)
    if node.operator == "||":
        return call("CONCAT", [left, right])
    return e.Arithmetic(node.operator, left, right)


def _unary(node: x.Unary, known: Scope) -> e.Expression:
    of = typed(node.of, known)
    return e.Negative(of) if node.operator == "-" else of


def _between(node: x.Between, known: Scope) -> e.Expression:
    of, low, high = (typed(part, known) for part in (node.of, node.low, node.high))
    within = e.Logical("AND", (e.Comparison(">=", of, low), e.Comparison("<=", of, high)))
    return e.Not(within) if node.negated else within


def _in(node: x.InList, known: Scope) -> e.Expression:
    found = e.In(typed(node.of, known), tuple(typed(item, known) for item in node.items))
    return e.Not(found) if node.negated else found


def _like(node: x.Like, known: Scope) -> e.Expression:
    found = e.Like(typed(node.of, known), typed(node.pattern, known), node.escape)
    return e.Not(found) if node.negated else found


def _is_null(node: x.IsNull, known: Scope) -> e.Expression:
    found = e.IsNull(typed(node.of, known))
    return e.Not(found) if node.negated else found


def _case(node: x.Case, known: Scope) -> e.Expression:
    of = None if node.of is None else typed(node.of, known)
    whens = []
    for when in node.whens:
        condition = typed(when.condition, known)
        if of is not None:
            condition = e.Comparison("=", of, condition)
        whens.append(e.When(condition, typed(when.result, known)))
    return e.Case(tuple(whens), e.NULL if node.otherwise is None else typed(node.otherwise, known))


def _call(node: x.FunctionCall, known: Scope) -> e.Expression:
    if node.star:
        raise TypeMismatch(f"{node.name}(*) is an aggregation, which cannot stand here")
    return call(node.name, [_argument(node, at, known) for at in range(len(node.arguments))])


def _argument(node: x.FunctionCall, at: int, known: Scope) -> Argument:
    argument = node.arguments[at]
    if isinstance(argument, x.LambdaFunction):
        return LambdaArgument(len(argument.parameters), _lambda(argument, known))
    if isinstance(argument, x.ColumnName) and at == 0 and node.name in _TAKES_A_UNIT:
        return e.Literal(argument.name, t.STRING)  # TIMESTAMPADD(DAYS, …)
    return typed(argument, known)


def _lambda(node: x.LambdaFunction, known: Scope) -> Callable[[tuple[t.SqlType, ...]], e.Lambda]:
    def make(kinds: tuple[t.SqlType, ...]) -> e.Lambda:
        variables = dict(zip(node.parameters, kinds, strict=True))
        inner = replace(known, variables={**known.variables, **variables})
        parameters = tuple(e.Variable(name, kind) for name, kind in variables.items())
        return e.Lambda(parameters, typed(node.body, inner))

    return make


def _array(node: x.ArrayLiteral, known: Scope) -> e.Expression:
    if not node.items:
        raise TypeMismatch("Array constructor cannot be empty. Please supply at least one element")
    items = [typed(item, known) for item in node.items]
    kind = e.common_type(items, "ARRAY")
    if kind == t.NULL:
        raise TypeMismatch("Cannot construct an array with all NULL elements: cast one of them")
    return e.ArrayOf(tuple(items), kind)


def _map(node: x.MapLiteral, known: Scope) -> e.Expression:
    if not node.entries:
        raise TypeMismatch("Map constructor cannot be empty. Please supply at least one key value pair")
    entries = [(typed(key, known), typed(value, known)) for key, value in node.entries]
    key = e.common_type([entry[0] for entry in entries], "keys of a MAP")
    value = e.common_type([entry[1] for entry in entries], "values of a MAP")
    if t.NULL in (key, value):
        raise TypeMismatch("Cannot construct a map with all NULL keys or values: cast one of them")
    return e.MapOf(tuple(entries), key, value)


def _struct(node: x.StructLiteral, known: Scope) -> e.Expression:
    return e.StructOf(tuple((name, typed(value, known)) for name, value in node.items))


def _refused(what: str) -> Callable[[Any, Scope], e.Expression]:
    def refuse(node: Any, known: Scope) -> e.Expression:
        raise TypeMismatch(what)

    return refuse


_ANALYSERS: Final[dict[type, Callable[[Any, Scope], e.Expression]]] = {
    x.NullLiteral: lambda n, k: e.NULL,
    x.BooleanLiteral: lambda n, k: e.Literal(n.value, t.BOOLEAN),
    x.IntegerLiteral: _whole,
    x.DecimalLiteral: _decimal,
    x.DoubleLiteral: lambda n, k: e.Literal(n.value, t.DOUBLE),
    x.StringLiteral: lambda n, k: e.Literal(n.value, t.STRING),
    x.ColumnName: _column,
    x.FieldOf: lambda n, k: e.Field(typed(n.of, k), n.name),
    x.ItemOf: lambda n, k: e.Item(typed(n.of, k), typed(n.index, k)),
    x.FunctionCall: _call,
    x.LambdaFunction: _refused("A lambda stands only among the arguments of a function"),
    x.Binary: _binary,
    x.Unary: _unary,
    x.Comparison: lambda n, k: e.Comparison(n.operator, typed(n.left, k), typed(n.right, k)),
    x.Chain: lambda n, k: e.Logical(n.operator, tuple(typed(part, k) for part in n.operands)),
    x.Not: lambda n, k: e.Not(typed(n.of, k)),
    x.IsNull: _is_null,
    x.Between: _between,
    x.InList: _in,
    x.Like: _like,
    x.Case: _case,
    x.CastTo: lambda n, k: e.Cast(typed(n.of, k), type_of(n.type, k.types)),
    x.ArrayLiteral: _array,
    x.MapLiteral: _map,
    x.StructLiteral: _struct,
    x.AtTimeZone: _refused("AT TIME ZONE is not supported: use CONVERT_TZ or FORMAT_TIMESTAMP"),
}
