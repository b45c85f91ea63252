"""The reference evaluator: a tree becomes a Python function of a row. What it gives is what the tree means.

A node becomes a closure over the closures of its parts, so that nothing is looked up while rows are computed.
A row is a mapping from columns to values; a lambda's parameters stand in it under names that no column has.

A scalar function that fails gives null and is reported. Whatever else fails, fails the whole expression:
`evaluator` then reports it and gives null, or raises.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

import re2  # type: ignore[import-untyped]

from penstock.expressions import numbers
from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.casts import cast_function
from penstock.expressions.comparing import common_form, comparison
from penstock.expressions.environment import NOWHERE, Environment, ExpressionFailure
from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.functions.resolving import implementation

Row = Mapping[str, Any]
Evaluate = Callable[[Any], Any]
"""From a row to a value."""


def evaluator(expression: e.Expression, environment: Environment = NOWHERE) -> Evaluate:
    """A function that gives null for a row without a result, and reports why."""
    compute = compiled(expression, environment)
    if isinstance(expression, e.Column | e.Literal):
        return compute  # neither can fail
    report = environment.report

    def evaluate(row: Any) -> Any:
        try:
            return compute(row)
        except Exception as error:
            report(ExpressionFailure("expression", str(error), row))
            return None

    return evaluate


def compiled(expression: e.Expression, environment: Environment = NOWHERE) -> Evaluate:
    """A function that raises for a row without a result."""
    return _COMPILERS[type(expression)](expression, environment)


def _literal(node: e.Literal, env: Environment) -> Evaluate:
    value = node.value
    return lambda row: value


def _column(node: e.Column, env: Environment) -> Evaluate:
    name = node.name

    def get(row: Any) -> Any:
        try:
            return row[name]
        except KeyError:
            return None

    return get


def _variable(node: e.Variable, env: Environment) -> Evaluate:
    name = (node.name,)  # a tuple: no column is named so
    return lambda row: row[name]


def _field(node: e.Field, env: Environment) -> Evaluate:
    of, name = compiled(node.of, env), node.name

    def get(row: Any) -> Any:
        value = of(row)
        return None if value is None else value.get(name)

    return get


def _item(node: e.Item, env: Environment) -> Evaluate:
    of, index = compiled(node.of, env), compiled(node.index, env)
    if isinstance(node.of.type, t.Map):

        def look_up(row: Any) -> Any:
            entries, key = of(row), index(row)
            return None if entries is None or key is None else entries.get(key)

        return look_up

    def pick(row: Any) -> Any:
        items, at = of(row), index(row)
        if items is None or at is None or at == 0 or abs(at) > len(items):
            return None
        return items[at - 1] if at > 0 else items[at]

    return pick


def _arithmetic(node: e.Arithmetic, env: Environment) -> Evaluate:
    left, right = compiled(node.left, env), compiled(node.right, env)
    compute = _operator(node)

    def evaluate(row: Any) -> Any:
        one, other = left(row), right(row)
        return None if one is None or other is None else compute(one, other)

    return evaluate


def _operator(node: e.Arithmetic) -> Callable[[Any, Any], Any]:
    kind, symbol = node.type, node.operator
    if kind == t.STRING:
        return lambda a, b: a + b
    if isinstance(kind, t.Decimal):
        return lambda a, b: numbers.decimal_arithmetic(
            symbol, numbers.exact_decimal(a), numbers.exact_decimal(b), kind
        )
    if kind == t.DOUBLE:
        compute = _DOUBLES[symbol]
        return lambda a, b: compute(float(a), float(b))
    wrap, whole = (numbers.wrap_int if kind == t.INTEGER else numbers.wrap_long), _WHOLE[symbol]
    return lambda a, b: wrap(whole(a, b))


_WHOLE: Final[dict[str, Callable[[int, int], int]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": numbers.truncated_division,
    "%": numbers.remainder,
}
_DOUBLES: Final[dict[str, Callable[[float, float], float]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": numbers.double_division,
    "%": numbers.double_remainder,
}


def _negative(node: e.Negative, env: Environment) -> Evaluate:
    of = compiled(node.of, env)
    wrap: Callable[[Any], Any] = lambda value: value  # noqa: E731
    if node.type == t.INTEGER:
        wrap = numbers.wrap_int
    elif node.type == t.BIGINT:
        wrap = numbers.wrap_long
    return lambda row: None if (value := of(row)) is None else wrap(-value)


def _comparison(node: e.Comparison, env: Environment) -> Evaluate:
    left, right, name = compiled(node.left, env), compiled(node.right, env), node.operator
    if name.startswith("IS"):
        equal = comparison("=", node.left.type, node.right.type)
        wanted = name == "IS NOT DISTINCT FROM"

        def distinct(row: Any) -> bool:
            one, other = left(row), right(row)
            if one is None or other is None:
                return (one is other) is wanted
            return equal(one, other) is wanted

        return distinct
    compare = comparison(name, node.left.type, node.right.type)

    def evaluate(row: Any) -> bool:
        one, other = left(row), right(row)
        return False if one is None or other is None else compare(one, other)

    return evaluate


def _logical(node: e.Logical, env: Environment) -> Evaluate:
    operands = tuple(compiled(operand, env) for operand in node.operands)
    decides = node.operator == "OR"

    def evaluate(row: Any) -> bool:
        for operand in operands:
            if _known(operand(row)) is decides:
                return decides
        return not decides

    return evaluate


def _known(value: Any) -> bool:
    if value is None:
        raise EvaluationFailed("a BOOLEAN is null where AND, OR or NOT needs true or false")
    return bool(value)


def _not(node: e.Not, env: Environment) -> Evaluate:
    of = compiled(node.of, env)
    return lambda row: not _known(of(row))


def _is_null(node: e.IsNull, env: Environment) -> Evaluate:
    of = compiled(node.of, env)
    return lambda row: of(row) is None


def _in(node: e.In, env: Environment) -> Evaluate:
    of, kind = compiled(node.of, env), node.of.type
    hashable = (t.STRING, t.INTEGER, t.BIGINT, t.DATE, t.TIMESTAMP, t.TIME, t.BOOLEAN)
    constants = [item for item in node.items if isinstance(item, e.Literal)]
    fast = kind in hashable and all(common_form(kind, item.type) == (None, None) for item in constants)
    known = frozenset(item.value for item in constants) if fast else frozenset()
    rest = [item for item in node.items if not (fast and isinstance(item, e.Literal))]
    others = [(compiled(item, env), comparison("=", kind, item.type)) for item in rest]

    def evaluate(row: Any) -> bool:
        value = of(row)
        if value is None:
            return False
        if value in known:
            return True
        return any((item := get(row)) is not None and equal(value, item) for get, equal in others)

    return evaluate


def like_regex(pattern: str, escape: str | None) -> str:
    """A pattern of LIKE as a regular expression for the whole text."""
    parts, characters = [], iter(pattern)
    for character in characters:
        if character == escape:
            parts.append(re.escape(next(characters, escape)))
        else:
            parts.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    return "".join(_without_runs(parts))


@lru_cache(maxsize=256)
def _like_pattern(pattern: str, escape: str | None) -> Any:
    """RE2's, which takes time linear in the text however many `%` there are."""
    return re2.compile(f"(?s){like_regex(pattern, escape)}")


def _without_runs(parts: list[str]) -> list[str]:
    """`%%%` means `%`, and is not tried in as many ways."""
    return [part for at, part in enumerate(parts) if part != ".*" or at == 0 or parts[at - 1] != ".*"]


def _like(node: e.Like, env: Environment) -> Evaluate:
    of, pattern, escape = compiled(node.of, env), compiled(node.pattern, env), node.escape

    def evaluate(row: Any) -> bool:
        text, form = of(row), pattern(row)
        if text is None or form is None:
            return False
        return _like_pattern(form, escape).fullmatch(text) is not None

    return evaluate


def _case(node: e.Case, env: Environment) -> Evaluate:
    kind = node.type
    whens = tuple((compiled(w.condition, env), _as(w.result, kind, env)) for w in node.whens)
    otherwise = _as(node.otherwise, kind, env)

    def evaluate(row: Any) -> Any:
        for condition, result in whens:
            if condition(row):
                return result(row)
        return otherwise(row)

    return evaluate


def _as(node: e.Expression, kind: t.SqlType, env: Environment) -> Evaluate:
    """A part whose type is widened to that of the whole."""
    return compiled(node if node.type in (kind, t.NULL) else e.Cast(node, kind), env)


def _cast(node: e.Cast, env: Environment) -> Evaluate:
    of = compiled(node.of, env)
    if node.of.type == t.NULL:
        return of
    convert = cast_function(node.of.type, node.to)
    return lambda row: None if (value := of(row)) is None else convert(value)


def _array(node: e.ArrayOf, env: Environment) -> Evaluate:
    items = tuple(_as(item, node.item, env) for item in node.items)
    return lambda row: [item(row) for item in items]


def _map(node: e.MapOf, env: Environment) -> Evaluate:
    entries = tuple((_as(key, node.key, env), _as(value, node.value, env)) for key, value in node.entries)
    return lambda row: {key(row): value(row) for key, value in entries}


def _struct(node: e.StructOf, env: Environment) -> Evaluate:
    items = tuple((name, compiled(part, env)) for name, part in node.items)
    return lambda row: {name: part(row) for name, part in items}


MOST_LAMBDA_CALLS: Final = 1_000_000
"""For one row: a lambda within a lambda over long arrays could run for days."""
_SPENT: Final = ("", "calls")
"""Under this name a row holds how often lambdas were called for it; no column has it."""


def _lambda(node: e.Lambda, env: Environment) -> Evaluate:
    names = [(parameter.name,) for parameter in node.parameters]
    body = compiled(node.body, env)

    def bind(row: Any) -> Callable[..., Any]:
        spent = row.get(_SPENT) or [0]  # lambdas within a lambda share it

        def call(*values: Any) -> Any:
            spent[0] += 1
            if spent[0] > MOST_LAMBDA_CALLS:
                raise EvaluationFailed(f"a lambda was called more than {MOST_LAMBDA_CALLS} times for one row")
            return body({**row, _SPENT: spent, **dict(zip(names, values, strict=True))})

        return call

    return bind


def _call(node: e.Call, env: Environment) -> Evaluate:
    arguments = tuple(compiled(argument, env) for argument in node.arguments)
    function = implementation(node, env)
    name, report = node.name, env.report

    def evaluate(row: Any) -> Any:
        values = [argument(row) for argument in arguments]
        try:
            return function(*values)
        except Exception as error:
            report(ExpressionFailure(name, f"Failed to invoke function {name}: {error}", row))
            return None

    return evaluate


def _python_call(node: e.PythonCall, env: Environment) -> Evaluate:
    arguments = tuple(compiled(argument, env) for argument in node.arguments)
    name, report = node.function.name, env.report
    if env.python is None:
        raise EvaluationFailed(f"{name} is a function in Python, and none are executed here")
    function = env.python.scalar(node.function)

    def evaluate(row: Any) -> Any:
        values = [argument(row) for argument in arguments]
        try:
            return function(*values)
        except Exception as error:
            report(ExpressionFailure(name, f"Failed to invoke function {name}: {error}", row))
            return None

    return evaluate


_COMPILERS: Final[dict[type, Callable[[Any, Environment], Evaluate]]] = {
    e.Literal: _literal,
    e.Column: _column,
    e.Variable: _variable,
    e.Field: _field,
    e.Item: _item,
    e.Arithmetic: _arithmetic,
    e.Negative: _negative,
    e.Comparison: _comparison,
    e.Logical: _logical,
    e.Not: _not,
    e.IsNull: _is_null,
    e.In: _in,
    e.Like: _like,
    e.Case: _case,
    e.Cast: _cast,
    e.ArrayOf: _array,
    e.MapOf: _map,
    e.StructOf: _struct,
    e.Lambda: _lambda,
    e.Call: _call,
    e.PythonCall: _python_call,
}
