"""Expressions as ksqlDB shows them in messages: every operation in parentheses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.sql import syntax as x
from penstock.sql.printing import expression as printed
from penstock.sql.printing import string, type_name


def shown(node: x.Expression) -> str:
    write = _WRITERS.get(type(node))
    return printed(node) if write is None else write(node)


def _list(nodes: tuple[x.Expression, ...]) -> str:
    return ", ".join(map(shown, nodes))


def _chain(node: x.Chain) -> str:
    text = shown(node.operands[0])
    for operand in node.operands[1:]:
        text = f"({text} {node.operator} {shown(operand)})"
    return text


def _case(node: x.Case) -> str:
    parts = ["CASE"] + ([] if node.of is None else [shown(node.of)])
    parts += [f"WHEN {shown(when.condition)} THEN {shown(when.result)}" for when in node.whens]
    parts += [] if node.otherwise is None else [f"ELSE {shown(node.otherwise)}"]
    return f"({' '.join([*parts, 'END'])})"


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


_WRITERS: Final[dict[type, Callable[[Any], str]]] = {
    x.Binary: lambda n: f"({shown(n.left)} {n.operator} {shown(n.right)})",
    x.Comparison: lambda n: f"({shown(n.left)} {n.operator} {shown(n.right)})",
    x.Chain: _chain,
    x.Not: lambda n: f"(NOT {shown(n.of)})",
    x.IsNull: lambda n: f"({shown(n.of)} IS {_not(n.negated)}NULL)",
    x.Between: lambda n: f"({shown(n.of)} {_not(n.negated)}BETWEEN {shown(n.low)} AND {shown(n.high)})",
    x.InList: lambda n: f"({shown(n.of)} {_not(n.negated)}IN ({_list(n.items)}))",
    x.Like: lambda n: f"({shown(n.of)} {_not(n.negated)}LIKE {shown(n.pattern)})",
    x.Case: _case,
    x.CastTo: lambda n: f"CAST({shown(n.of)} AS {type_name(n.type)})",
    x.FunctionCall: lambda n: f"{n.name}({'*' if n.star else _list(n.arguments)})",
    x.FieldOf: lambda n: f"{shown(n.of)}->{n.name}",
    x.ItemOf: lambda n: f"{shown(n.of)}[{shown(n.index)}]",
    x.StringLiteral: lambda n: string(n.value),
    x.NullLiteral: lambda n: "null",
    x.BooleanLiteral: lambda n: "true" if n.value else "false",
    x.ArrayLiteral: lambda n: f"ARRAY[{_list(n.items)}]",
    x.StructLiteral: lambda n: f"STRUCT({', '.join(f'{name}:={shown(part)}' for name, part in n.items)})",
    x.MapLiteral: lambda n: f"MAP({', '.join(f'{shown(k)}:={shown(v)}' for k, v in n.entries)})",
}
