"""Expressions and types as text that parses to the same tree, with no more parentheses than needed."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from penstock.sql import syntax as x
from penstock.sql.keywords import QUOTED

_PLAIN: Final = re.compile(r"[A-Z_][A-Z0-9_@]*")

# How tightly a node binds; a part that binds less than its place asks for gets parentheses.
ANY, DISJUNCTION, CONJUNCTION, NEGATION, PREDICATE, SUM, PRODUCT, FACTOR, ZONED, PRIMARY = range(10)


def name(text: str) -> str:
    """An identifier, quoted where it must be."""
    if _PLAIN.fullmatch(text) and text not in QUOTED:
        return text
    return "`" + text.replace("`", "``") + "`"


def string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def expression(node: x.Expression, place: int = ANY) -> str:
    binding, write = _WRITERS[type(node)]
    if callable(binding):
        binding = binding(node)
    text = write(node)
    return text if binding >= place else f"({text})"


def type_name(node: x.TypeName) -> str:
    if node.fields:
        pairs = zip(node.fields, node.inner, strict=True)
        return f"STRUCT<{', '.join(f'{name(field)} {type_name(kind)}' for field, kind in pairs)}>"
    if node.inner or node.name == "STRUCT":
        return f"{node.name}<{', '.join(map(type_name, node.inner))}>"
    return name(node.name) + (f"({', '.join(map(str, node.sizes))})" if node.sizes else "")


def _list(nodes: tuple[x.Expression, ...]) -> str:
    return ", ".join(expression(node) for node in nodes)


def _decimal(value: Decimal) -> str:
    text = f"{value:f}"
    return text if "." in text else f"{text}."


def _double(value: float) -> str:
    text = repr(value)
    return text if "e" in text else f"{text}E0"


def _sign(node: Any) -> int:
    """A negative number binds like `-x`."""
    return FACTOR if str(node.value).startswith("-") else PRIMARY


def _column(node: x.ColumnName) -> str:
    return name(node.name) if node.source is None else f"{name(node.source)}.{name(node.name)}"


def _call(node: x.FunctionCall) -> str:
    return f"{name(node.name)}({'*' if node.star else _list(node.arguments)})"


def _lambda(node: x.LambdaFunction) -> str:
    names = ", ".join(name(parameter) for parameter in node.parameters)
    head = names if len(node.parameters) == 1 else f"({names})"
    return f"{head} => {expression(node.body)}"


def _binary(node: x.Binary) -> str:
    level = _level(node)
    return f"{expression(node.left, level)} {node.operator} {expression(node.right, level + 1)}"


def _level(node: x.Binary) -> int:
    return SUM if node.operator in ("+", "-", "||") else PRODUCT


def _chain(node: x.Chain) -> str:
    level = DISJUNCTION if node.operator == "OR" else CONJUNCTION
    return f" {node.operator} ".join(expression(operand, level + 1) for operand in node.operands)


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


def _between(node: x.Between) -> str:
    of, low, high = (expression(part, SUM) for part in (node.of, node.low, node.high))
    return f"{of} {_not(node.negated)}BETWEEN {low} AND {high}"


def _like(node: x.Like) -> str:
    escape = "" if node.escape is None else f" ESCAPE {string(node.escape)}"
    of, pattern = expression(node.of, SUM), expression(node.pattern, SUM)
    return f"{of} {_not(node.negated)}LIKE {pattern}{escape}"


def _case(node: x.Case) -> str:
    parts = ["CASE"] + ([] if node.of is None else [expression(node.of)])
    parts += [f"WHEN {expression(when.condition)} THEN {expression(when.result)}" for when in node.whens]
    parts += [] if node.otherwise is None else [f"ELSE {expression(node.otherwise)}"]
    return " ".join([*parts, "END"])


def _map(node: x.MapLiteral) -> str:
    return f"MAP({', '.join(f'{expression(k)} := {expression(v)}' for k, v in node.entries)})"


def _struct(node: x.StructLiteral) -> str:
    return f"STRUCT({', '.join(f'{name(field)} := {expression(value)}' for field, value in node.items)})"


_WRITERS: Final[dict[type, tuple[int | Callable[[Any], int], Callable[[Any], str]]]] = {
    x.NullLiteral: (PRIMARY, lambda n: "NULL"),
    x.BooleanLiteral: (PRIMARY, lambda n: "TRUE" if n.value else "FALSE"),
    x.IntegerLiteral: (_sign, lambda n: str(n.value)),
    x.DecimalLiteral: (_sign, lambda n: _decimal(n.value)),
    x.DoubleLiteral: (_sign, lambda n: _double(n.value)),
    x.StringLiteral: (PRIMARY, lambda n: string(n.value)),
    x.ColumnName: (PRIMARY, _column),
    x.FieldOf: (PRIMARY, lambda n: f"{expression(n.of, PRIMARY)}->{name(n.name)}"),
    x.ItemOf: (PRIMARY, lambda n: f"{expression(n.of, PRIMARY)}[{expression(n.index)}]"),
    x.FunctionCall: (PRIMARY, _call),
    x.LambdaFunction: (ANY, _lambda),
    x.Binary: (_level, _binary),
    x.Unary: (FACTOR, lambda n: f"{n.operator} {expression(n.of, FACTOR)}"),
    x.Comparison: (
        PREDICATE,
        lambda n: f"{expression(n.left, SUM)} {n.operator} {expression(n.right, SUM)}",
    ),
    x.Chain: (lambda n: DISJUNCTION if n.operator == "OR" else CONJUNCTION, _chain),
    x.Not: (NEGATION, lambda n: f"NOT {expression(n.of, NEGATION)}"),
    x.IsNull: (PREDICATE, lambda n: f"{expression(n.of, SUM)} IS {_not(n.negated)}NULL"),
    x.Between: (PREDICATE, _between),
    x.InList: (
        PREDICATE,
        lambda n: f"{expression(n.of, SUM)} {_not(n.negated)}IN ({_list(n.items)})",
    ),
    x.Like: (PREDICATE, _like),
    x.Case: (PRIMARY, _case),
    x.CastTo: (PRIMARY, lambda n: f"CAST({expression(n.of)} AS {type_name(n.type)})"),
    x.ArrayLiteral: (PRIMARY, lambda n: f"ARRAY[{_list(n.items)}]"),
    x.MapLiteral: (PRIMARY, _map),
    x.StructLiteral: (PRIMARY, _struct),
    x.AtTimeZone: (ZONED, lambda n: f"{expression(n.of, PRIMARY)} AT TIME ZONE {string(n.zone)}"),
}
