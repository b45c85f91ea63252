"""Types and expressions as JSON values and back, in a form that stays.

Types are their names, or an object: `"BIGINT"`, `{"array": "INTEGER"}`, `{"decimal": [4, 2]}`. An expression
is an object with one tag, its kind: `{"column": ["A", "BIGINT"]}`. Reading refuses every other form.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.errors import ExpressionError


def write_type(kind: t.SqlType) -> Any:
    match kind:
        case t.Simple(name=name):
            return name
        case t.Decimal(precision=precision, scale=scale):
            return {"decimal": [precision, scale]}
        case t.Array(item=item):
            return {"array": write_type(item)}
        case t.Map(key=key, value=value):
            return {"map": [write_type(key), write_type(value)]}
        case t.Struct(fields=fields):
            return {"struct": [[field.name, write_type(field.type)] for field in fields]}
        case _:
            raise ExpressionError(f"{kind} is no type of a column")


def read_type(document: Any) -> t.SqlType:
    if isinstance(document, str) and document in t.SIMPLE:
        return t.SIMPLE[document]
    match document:
        case {"decimal": [int(precision), int(scale)]}:
            return t.Decimal(precision, scale)
        case {"array": item}:
            return t.Array(read_type(item))
        case {"map": [key, value]}:
            return t.Map(read_type(key), read_type(value))
        case {"struct": [*fields]}:
            return t.struct_of((name, read_type(kind)) for name, kind in fields)
        case _:
            raise ExpressionError(f"{document!r:.80} is no type")


def write_expression(node: e.Expression) -> Any:
    tag = _TAGS.get(type(node))
    if tag is None:
        raise ExpressionError(f"{type(node).__name__} has no JSON form")
    return {tag: _WRITERS[tag](node)}


def read_expression(document: Any) -> e.Expression:
    if not isinstance(document, dict) or len(document) != 1:
        raise ExpressionError(f"{document!r:.80} is no expression")
    ((tag, content),) = document.items()
    if tag not in _READERS:
        raise ExpressionError(f"There is no expression {tag!r:.80}")
    return _READERS[tag](content)


def _write_literal(node: e.Literal) -> Any:
    value = node.value
    if isinstance(value, Decimal):
        value = str(value)
    elif isinstance(value, bytes):
        value = b64encode(value).decode()
    elif isinstance(value, float):
        value = value.hex()
    return [value, write_type(node.kind)]


def _read_literal(content: Any) -> e.Literal:
    value, kind = content[0], read_type(content[1])
    if value is not None:
        if isinstance(kind, t.Decimal):
            value = Decimal(value)
        elif kind == t.BYTES:
            value = b64decode(value)
        elif kind == t.DOUBLE:
            value = float.fromhex(value)
        if not t.holds(kind, value):
            raise ExpressionError(f"{value!r:.80} is no {kind}")
    return e.Literal(value, kind)


_w, _r = write_expression, read_expression


def _all(nodes: tuple[e.Expression, ...]) -> list[Any]:
    return [_w(node) for node in nodes]


def _read_all(content: Any) -> tuple[e.Expression, ...]:
    return tuple(_r(item) for item in content)


def _read_variable(content: Any) -> e.Variable:
    return e.Variable(content[0], read_type(content[1]))


_WRITERS: Final[dict[str, Callable[[Any], Any]]] = {
    "literal": _write_literal,
    "column": lambda n: [n.name, write_type(n.kind)],
    "variable": lambda n: [n.name, write_type(n.kind)],
    "field": lambda n: [_w(n.of), n.name],
    "item": lambda n: [_w(n.of), _w(n.index)],
    "arithmetic": lambda n: [n.operator, _w(n.left), _w(n.right)],
    "negative": lambda n: _w(n.of),
    "comparison": lambda n: [n.operator, _w(n.left), _w(n.right)],
    "logical": lambda n: [n.operator, _all(n.operands)],
    "not": lambda n: _w(n.of),
    "is_null": lambda n: _w(n.of),
    "in": lambda n: [_w(n.of), _all(n.items)],
    "like": lambda n: [_w(n.of), _w(n.pattern), n.escape],
    "case": lambda n: [[[_w(w.condition), _w(w.result)] for w in n.whens], _w(n.otherwise)],
    "cast": lambda n: [_w(n.of), write_type(n.to)],
    "array_of": lambda n: [_all(n.items), write_type(n.item)],
    "map_of": lambda n: [[[_w(k), _w(v)] for k, v in n.entries], write_type(n.key), write_type(n.value)],
    "struct_of": lambda n: [[name, _w(part)] for name, part in n.items],
    "lambda": lambda n: [[[p.name, write_type(p.kind)] for p in n.parameters], _w(n.body)],
    "call": lambda n: [n.name, _all(n.arguments), write_type(n.kind), n.signature],
}
_READERS: Final[dict[str, Callable[[Any], e.Expression]]] = {
    "literal": _read_literal,
    "column": lambda c: e.Column(c[0], read_type(c[1])),
    "variable": _read_variable,
    "field": lambda c: e.Field(_r(c[0]), c[1]),
    "item": lambda c: e.Item(_r(c[0]), _r(c[1])),
    "arithmetic": lambda c: e.Arithmetic(c[0], _r(c[1]), _r(c[2])),
    "negative": lambda c: e.Negative(_r(c)),
    "comparison": lambda c: e.Comparison(c[0], _r(c[1]), _r(c[2])),
    "logical": lambda c: e.Logical(c[0], _read_all(c[1])),
    "not": lambda c: e.Not(_r(c)),
    "is_null": lambda c: e.IsNull(_r(c)),
    "in": lambda c: e.In(_r(c[0]), _read_all(c[1])),
    "like": lambda c: e.Like(_r(c[0]), _r(c[1]), c[2]),
    "case": lambda c: e.Case(tuple(e.When(_r(w[0]), _r(w[1])) for w in c[0]), _r(c[1])),
    "cast": lambda c: e.Cast(_r(c[0]), read_type(c[1])),
    "array_of": lambda c: e.ArrayOf(_read_all(c[0]), read_type(c[1])),
    "map_of": lambda c: e.MapOf(tuple((_r(k), _r(v)) for k, v in c[0]), read_type(c[1]), read_type(c[2])),
    "struct_of": lambda c: e.StructOf(tuple((name, _r(part)) for name, part in c)),
    "lambda": lambda c: e.Lambda(tuple(_read_variable(p) for p in c[0]), _r(c[1])),
    "call": lambda c: e.Call(c[0], _read_all(c[1]), read_type(c[2]), c[3]),
}
_TAGS: Final = {
    e.Literal: "literal",
    e.Column: "column",
    e.Variable: "variable",
    e.Field: "field",
    e.Item: "item",
    e.Arithmetic: "arithmetic",
    e.Negative: "negative",
    e.Comparison: "comparison",
    e.Logical: "logical",
    e.Not: "not",
    e.IsNull: "is_null",
    e.In: "in",
    e.Like: "like",
    e.Case: "case",
    e.Cast: "cast",
    e.ArrayOf: "array_of",
    e.MapOf: "map_of",
    e.StructOf: "struct_of",
    e.Lambda: "lambda",
    e.Call: "call",
}
