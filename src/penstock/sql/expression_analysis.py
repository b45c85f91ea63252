"""Typed expressions from syntax: names become columns, literals and calls get their types.

A type that does not fit is an `SqlError` at the place of the smallest expression that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Final

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.errors import TypeMismatch
from penstock.expressions.functions.resolving import Argument, LambdaArgument, call
from penstock.expressions.numbers import INT_MAX, INT_MIN, LONG_MAX
from penstock.expressions.python_functions import SCALAR, PythonFunction
from penstock.sql import syntax as x
from penstock.sql.coercion import coerced
from penstock.sql.errors import SqlError
from penstock.sql.magic_times import with_times
from penstock.sql.message_text import shown
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
    rows: Mapping[str, str] = field(default_factory=dict)
    """What a column is called in the row, where that is not the name by which it is known."""
    ambiguous: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names that several sources have, and what they could mean."""
    sources: frozenset[str] = frozenset()
    """Names and aliases of all sources, where there are several."""
    clause: str = ""
    """Where the expression stands, for messages: `SELECT`, `WHERE` …"""
    functions: Mapping[str, PythonFunction] = field(default_factory=dict)
    """Functions of users."""
    calls: Callable[[x.FunctionCall, Scope], e.Expression | None] | None = None
    """What becomes of calls that are no scalar functions; none where such calls are refused."""


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
        return e.Column(known.rows.get(name, name), known.columns[name])
    if name in known.ambiguous:
        choices = " or ".join(known.ambiguous[name])
        raise TypeMismatch(f"Column '{name}' is ambiguous. Could be {choices}.")
    if node.source is not None and node.source not in (known.source, *known.sources):
        raise TypeMismatch(f"'{node.source}' is not a valid stream/table name or alias.")
    near = get_close_matches(name, known.columns, 1)
    hint = f" Did you mean {shown_name(near[0])}?" if near else ""
    clause = f"{known.clause} column" if known.clause else "Column"
    raise TypeMismatch(f"{clause} '{name}' cannot be resolved.{hint}")


def _binary(node: x.Binary, known: Scope) -> e.Expression:
    left, right = typed(node.left, known), typed(node.right, known)
    if node.operator == "||":
        return call("CONCAT", [left, right])
    try:
        return e.Arithmetic(node.operator, left, right)
    except TypeMismatch as error:
        if t.NULL in (left.type, right.type):
            one, other = (str(part.type).replace("NULL", "null") for part in (left, right))
            why = f"Arithmetic on types {one} and {other} are not supported."
        else:
            why = f"Unsupported arithmetic types. {t.family(left.type)} {t.family(right.type)}"
        raise TypeMismatch(f"Error processing expression: {shown(node)}. {why}") from error


def _unary(node: x.Unary, known: Scope) -> e.Expression:
    of = typed(node.of, known)
    return e.Negative(of) if node.operator == "-" else of


_COMPARISONS: Final = {
    "=": "EQUAL",
    "<>": "NOT_EQUAL",
    "<": "LESS_THAN",
    "<=": "LESS_THAN_OR_EQUAL",
    ">": "GREATER_THAN",
    ">=": "GREATER_THAN_OR_EQUAL",
}


def _compared(node: x.Comparison, known: Scope) -> e.Expression:
    left, right = (typed(part, known) for part in with_times((node.left, node.right)))
    if t.NULL in (left.type, right.type) and node.operator in _COMPARISONS:
        raise TypeMismatch(
            f"Comparison with NULL not supported: {t.family(left.type)} {node.operator} "
            f"{t.family(right.type)}\nUse 'IS NULL' or 'IS NOT NULL' instead."
        )
    try:
        return e.Comparison(node.operator, left, right)
    except TypeMismatch as error:
        name = _COMPARISONS.get(node.operator, node.operator.replace(" ", "_"))
        raise TypeMismatch(
            f"Cannot compare {shown(node.left)} ({left.type}) to {shown(node.right)} ({right.type}) with "
            f"{name}.\n{error}"
        ) from error


def _between(node: x.Between, known: Scope) -> e.Expression:
    nodes = with_times((node.of, node.low, node.high))
    low, high = (
        _compared(x.Comparison(operator, nodes[0], bound, at=bound.at), known)
        for operator, bound in ((">=", nodes[1]), ("<=", nodes[2]))
    )
    within = e.Logical("AND", (low, high))
    return e.Not(within) if node.negated else within


def _in(node: x.InList, known: Scope) -> e.Expression:
    nodes = (node.of, *node.items)
    of, *items = coerced(nodes, [typed(part, known) for part in nodes])
    found = e.In(of, tuple(items))
    return e.Not(found) if node.negated else found


def _like(node: x.Like, known: Scope) -> e.Expression:
    found = e.Like(typed(node.of, known), typed(node.pattern, known), node.escape)
    return e.Not(found) if node.negated else found


def _is_null(node: x.IsNull, known: Scope) -> e.Expression:
    found = e.IsNull(typed(node.of, known))
    return e.Not(found) if node.negated else found


def _case(node: x.Case, known: Scope) -> e.Expression:
    of = None if node.of is None else typed(node.of, known)
    whens: list[e.When] = []
    kind: t.SqlType = t.NULL
    for when in node.whens:
        condition, result = typed(when.condition, known), typed(when.result, known)
        if of is not None:
            condition = e.Comparison("=", of, condition)
        if condition.type != t.BOOLEAN:
            raise TypeMismatch(
                "WHEN operand type should be boolean.\n"
                f"Type for '{shown(when.condition)}' is {condition.type}"
            )
        if not _fits(result.type, kind):
            clause = f"WHEN {shown(when.condition)} THEN {shown(when.result)}"
            raise TypeMismatch(
                "Invalid Case expression. Type for all 'THEN' clauses should be the same.\n"
                f"THEN expression '{clause}' has type: {result.type}.\n"
                f"Previous THEN expression(s) type: {kind}."
            )
        kind = result.type if kind == t.NULL else kind
        whens.append(e.When(condition, result))
    otherwise = e.NULL if node.otherwise is None else typed(node.otherwise, known)
    if not _fits(otherwise.type, kind):
        raise TypeMismatch(
            "Invalid Case expression. Type for the default clause should be the same as for 'THEN' "
            f"clauses.\nTHEN type: {kind}.\nDEFAULT type: {otherwise.type}."
        )
    return e.Case(tuple(whens), otherwise)


def _fits(kind: t.SqlType, known: t.SqlType) -> bool:
    """Whether a result can stand beside those before it; numbers are widened."""
    return t.NULL in (kind, known) or kind == known or (t.is_numeric(kind) and t.is_numeric(known))


def _call(node: x.FunctionCall, known: Scope) -> e.Expression:
    special = known.calls(node, known) if known.calls is not None else None
    if special is not None:
        return special
    if node.star:
        raise TypeMismatch(f"{node.name}(*) is an aggregation, which cannot stand here")
    if node.name in known.functions:
        return e.PythonCall(*python_call(node, known, SCALAR))
    return call(node.name, [_argument(node, at, known) for at in range(len(node.arguments))])


def python_call(
    node: x.FunctionCall, known: Scope, kind: str
) -> tuple[PythonFunction, tuple[e.Expression, ...]]:
    """A function of a user, and its arguments as it takes them: numbers are widened."""
    function = known.functions[node.name]
    if function.kind != kind:
        raise TypeMismatch(f"{node.name} is a function of the kind {function.kind}, which cannot stand here")
    given = [typed(argument, known) for argument in node.arguments]
    if len(given) != len(function.parameters):
        raise TypeMismatch(
            f"Function '{node.name}' does not accept parameters ({', '.join(str(g.type) for g in given)}).\n"
            f"Valid alternatives are:\n{function.signature}"
        )
    return function, tuple(
        _passed(part, wanted, function) for part, (_, wanted) in zip(given, function.parameters, strict=True)
    )


def _passed(part: e.Expression, wanted: t.SqlType, function: PythonFunction) -> e.Expression:
    if part.type in (wanted, t.NULL):
        return part
    if t.is_numeric(part.type) and t.is_numeric(wanted) and t.widened(part.type, wanted) == wanted:
        return e.Cast(part, wanted)
    raise TypeMismatch(
        f"Function '{function.name}' does not accept {part.type} where it takes {wanted}.\n"
        f"Valid alternatives are:\n{function.signature}"
    )


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
        raise TypeMismatch(
            "Array constructor cannot be empty. Please supply at least one element "
            "(see https://github.com/confluentinc/ksql/issues/4239)."
        )
    items = coerced(node.items, [typed(item, known) for item in node.items])
    kind = e.common_type(items, "ARRAY")
    if kind == t.NULL:
        raise TypeMismatch("Cannot construct an array with all NULL elements: cast one of them")
    return e.ArrayOf(tuple(items), kind)


def _map(node: x.MapLiteral, known: Scope) -> e.Expression:
    if not node.entries:
        raise TypeMismatch(
            "Map constructor cannot be empty. Please supply at least one key value pair "
            "(see https://github.com/confluentinc/ksql/issues/4239)."
        )
    keys = coerced([key for key, _ in node.entries], [typed(key, known) for key, _ in node.entries])
    values = coerced([part for _, part in node.entries], [typed(part, known) for _, part in node.entries])
    entries = list(zip(keys, values, strict=True))
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
    x.Comparison: _compared,
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
