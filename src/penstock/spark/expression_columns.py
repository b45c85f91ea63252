"""Expressions as Spark columns, where a property test shows that they give what the reference evaluator gives
(`tests/spark/test_expression_columns.py`). `column_of` returns nothing for an expression with any other part.

Columns hold what `expressions/types.py` says: dates and times are whole numbers. Nothing rests on Spark's
ANSI mode: no operation is used where it could overflow or fail. What fails in the evaluator is computed as a
second column, `failed`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as f
from pyspark.sql import types as s

from penstock.expressions import numbers
from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.evaluating import like_regex


class NotInSpark(Exception):
    """An expression with a part that only the reference evaluator computes."""


@dataclass(frozen=True)
class Computed:
    value: Column
    failed: Column | None = None
    """True for rows where the evaluator has no result; none if there are no such rows."""


Columns = Mapping[str, Column]
_SIMPLE: Final = {
    t.BOOLEAN: s.BooleanType(),
    t.INTEGER: s.IntegerType(),
    t.BIGINT: s.LongType(),
    t.DOUBLE: s.DoubleType(),
    t.STRING: s.StringType(),
    t.BYTES: s.BinaryType(),
    t.DATE: s.LongType(),
    t.TIME: s.IntegerType(),
    t.TIMESTAMP: s.LongType(),
}
_LOW_32: Final = 0xFFFFFFFF
MAX_WEIGHT: Final = 5_000
"""Larger expressions are left to the evaluator: Spark would take seconds to plan them."""


def spark_type(kind: t.SqlType) -> s.DataType:
    """The type of a column that holds such values."""
    match kind:
        case t.Decimal(precision=precision, scale=scale) if precision <= 38:
            return s.DecimalType(precision, scale)
        case t.Array(item=item):
            return s.ArrayType(spark_type(item))
        case t.Map(key=key, value=value):
            return s.MapType(spark_type(key), spark_type(value))
        case t.Struct(fields=fields):
            return s.StructType([s.StructField(field.name, spark_type(field.type)) for field in fields])
        case _ if kind in _SIMPLE:
            return _SIMPLE[kind]
        case _:
            raise NotInSpark(f"Spark has no type {kind}")


def column_of(expression: e.Expression, columns: Columns, *, null_on_failure: bool = True) -> Column | None:
    """A column for the expression; none if Spark does not compute all of it.

    Rows that fail are null. Without `null_on_failure`, expressions that can fail are left to the evaluator,
    which raises.
    """
    if _weight(expression) > MAX_WEIGHT:
        return None
    try:
        computed = _compute(expression, columns)
    except NotInSpark:
        return None
    if computed.failed is None:
        return computed.value
    return f.when(~computed.failed, computed.value) if null_on_failure else None


def _weight(node: e.Expression) -> int:
    """About how large Spark's plan becomes: most nodes mention their operands several times."""
    return min(1 + 3 * sum(_weight(part) for part in node.parts), MAX_WEIGHT + 1)


def _compute(node: e.Expression, columns: Columns) -> Computed:
    compiler = _COMPILERS.get(type(node))
    if compiler is None:
        raise NotInSpark(type(node).__name__)
    return compiler(node, columns)


def _any(*failures: Column | None) -> Column | None:
    known = [failure for failure in failures if failure is not None]
    return reduce(lambda one, other: one | other, known) if known else None


def _literal(node: e.Literal, columns: Columns) -> Computed:
    if node.value is None:
        return Computed(f.lit(None))
    if node.kind not in _SIMPLE:
        raise NotInSpark(f"a literal of {node.kind}")
    return Computed(f.lit(node.value).cast(spark_type(node.kind)))


def _column(node: e.Column, columns: Columns) -> Computed:
    spark_type(node.kind)
    if node.name not in columns:
        raise NotInSpark(f"no column {node.name}")
    return Computed(columns[node.name])


def _field(node: e.Field, columns: Columns) -> Computed:
    of = _compute(node.of, columns)
    return Computed(of.value.getField(node.name), of.failed)


def _item(node: e.Item, columns: Columns) -> Computed:
    of, index = _compute(node.of, columns), _compute(node.index, columns)
    failed = _any(of.failed, index.failed)
    if isinstance(node.of.type, t.Map):
        return Computed(f.try_element_at(of.value, index.value), failed)
    within = (index.value != 0) & (f.abs(index.value.cast("double")) <= f.size(of.value))
    at = f.when(within, index.value.cast("int")).otherwise(f.lit(None).cast("int"))
    return Computed(f.when(at.isNotNull(), f.try_element_at(of.value, at)), failed)


def _arithmetic(node: e.Arithmetic, columns: Columns) -> Computed:
    left, right = _compute(node.left, columns), _compute(node.right, columns)
    failed = _any(left.failed, right.failed)
    if node.type == t.STRING:
        return Computed(f.concat(left.value, right.value), failed)
    if node.type == t.DOUBLE:
        return Computed(
            _doubles(node.operator, left.value.cast("double"), right.value.cast("double")), failed
        )
    if isinstance(node.type, t.Decimal):
        raise NotInSpark("decimals have other precisions in Spark")
    one, other = left.value.cast("bigint"), right.value.cast("bigint")
    if node.operator in ("/", "%"):
        by_zero = f.coalesce((other == 0) & one.isNotNull(), f.lit(False))
        return Computed(_narrowed(_divided(node.operator, one, other), node.type), _any(failed, by_zero))
    return Computed(_narrowed(_wrapped(node.operator, one, other, node.type), node.type), failed)


def _wrapped(operator: str, one: Column, other: Column, kind: t.SqlType) -> Column:
    """64 bits that wrap around, of halves that cannot overflow."""
    if operator == "*":
        if kind == t.INTEGER:
            return one * other
        raise NotInSpark("a product of 64 bits that wraps around")
    sign = 1 if operator == "+" else -1
    low = one.bitwiseAND(f.lit(_LOW_32)) + sign * other.bitwiseAND(f.lit(_LOW_32))
    high = f.shiftright(one, 32) + sign * f.shiftright(other, 32) + f.shiftright(low, 32)
    return f.shiftleft(high, 32).bitwiseOR(low.bitwiseAND(f.lit(_LOW_32)))


def _divided(operator: str, one: Column, other: Column) -> Column:
    usual = other.isNotNull() & (other != 0) & (other != -1)
    safe = f.when(usual, other).otherwise(f.lit(1).cast("bigint"))
    if operator == "%":
        return f.when(usual, one % safe).when(other == -1, one * 0)
    quotient = f.call_function("div", one, safe)
    return f.when(usual, quotient).when(other == -1, _wrapped("-", one * 0, one, t.BIGINT))


def _narrowed(value: Column, kind: t.SqlType) -> Column:
    if kind == t.BIGINT:
        return value
    return f.shiftright(f.shiftleft(value, 32), 32).cast("int")


def _doubles(operator: str, one: Column, other: Column) -> Column:
    if operator in ("/", "%"):
        raise NotInSpark("Spark divides doubles by zero in another way")
    return {"+": one + other, "-": one - other, "*": one * other}[operator]


def _negative(node: e.Negative, columns: Columns) -> Computed:
    of = _compute(node.of, columns)
    if t.is_whole(node.type):
        wide = of.value.cast("bigint")
        return Computed(_narrowed(_wrapped("-", wide * 0, wide, node.type), node.type), of.failed)
    if node.type != t.DOUBLE:
        raise NotInSpark(f"- {node.type}")
    return Computed(f.lit(-1.0) * of.value, of.failed)


_COMPARE: Final[dict[str, Callable[[Column, Column], Column]]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_WHOLE: Final = (t.INTEGER, t.BIGINT, t.DATE, t.TIME, t.TIMESTAMP)


def _comparison(node: e.Comparison, columns: Columns) -> Computed:
    left, right = _compute(node.left, columns), _compute(node.right, columns)
    failed = _any(left.failed, right.failed)
    one, other = _comparable(node, left.value, right.value)
    doubles = t.DOUBLE in (node.left.type, node.right.type)
    compare = _COMPARE.get(node.operator, _COMPARE["="])
    told = compare(one, other)
    if doubles:  # for Spark, NaN is equal to itself and greater than everything
        no_nan = ~f.isnan(one) & ~f.isnan(other)
        told = (~no_nan | told) if node.operator == "<>" else (no_nan & told)
    told = f.when(one.isNotNull() & other.isNotNull(), told).otherwise(f.lit(False))
    if node.operator in _COMPARE:
        return Computed(told, failed)
    same = told | (one.isNull() & other.isNull())
    return Computed(same if node.operator == "IS NOT DISTINCT FROM" else ~same, failed)


def _comparable(node: e.Comparison, one: Column, other: Column) -> tuple[Column, Column]:
    left, right = node.left.type, node.right.type
    if t.DOUBLE in (left, right) and t.is_numeric(left) and t.is_numeric(right):
        if isinstance(left, t.Decimal) or isinstance(right, t.Decimal):
            raise NotInSpark("a double beside a decimal")
        return one.cast("double"), other.cast("double")
    if (t.is_whole(left) and t.is_whole(right)) or (left == right and left in _WHOLE):
        return one, other
    if left == right and left in (t.STRING, t.BOOLEAN, t.BYTES) and node.operator not in e.ORDERED:
        return one, other
    raise NotInSpark(f"{left} {node.operator} {right}")


def _logical(node: e.Logical, columns: Columns) -> Computed:
    """From the last operand to the first: one counts only if those before it did not decide."""
    decides = node.operator == "OR"
    value, failed = f.lit(not decides), f.lit(False)
    for operand in reversed(node.operands):
        each = _compute(operand, columns)
        decided = f.coalesce(each.value == decides, f.lit(False))
        broken = each.value.isNull() if each.failed is None else each.failed | each.value.isNull()
        failed = broken | (~decided & failed)
        value = f.when(decided, f.lit(decides)).otherwise(value)
    return Computed(value, failed)


def _not(node: e.Not, columns: Columns) -> Computed:
    of = _compute(node.of, columns)
    return Computed(~of.value, _any(of.failed, of.value.isNull()))


def _is_null(node: e.IsNull, columns: Columns) -> Computed:
    of = _compute(node.of, columns)
    return Computed(of.value.isNull(), of.failed)


def _in(node: e.In, columns: Columns) -> Computed:
    of = _compute(node.of, columns)
    constants = [item for item in node.items if isinstance(item, e.Literal) and item.type == node.of.type]
    if len(constants) != len(node.items) or node.of.type not in (*_WHOLE, t.STRING):
        raise NotInSpark("IN with items that are computed")
    kind = spark_type(node.of.type)
    items = [f.lit(item.value).cast(kind) for item in constants if item.value is not None]
    found = of.value.isin(*items) if items else f.lit(False)
    return Computed(f.coalesce(found, f.lit(False)), of.failed)


def _like(node: e.Like, columns: Columns) -> Computed:
    of = _compute(node.of, columns)
    if not isinstance(node.pattern, e.Literal) or node.pattern.value is None:
        raise NotInSpark("LIKE with a pattern that is computed")
    form = like_regex(node.pattern.value, node.escape)
    if not form.isascii() or "\\" in form.replace("\\.", ""):
        raise NotInSpark("LIKE with characters that need care")
    return Computed(f.coalesce(f.rlike(of.value, f.lit(rf"(?s)\A{form}\z")), f.lit(False)), of.failed)


def _case(node: e.Case, columns: Columns) -> Computed:
    kind = node.type
    if kind not in _SIMPLE:
        raise NotInSpark(f"CASE of {kind}")
    last = _as(node.otherwise, kind, columns)
    value, failed = last.value, last.failed if last.failed is not None else f.lit(False)
    for when in reversed(node.whens):
        condition, result = _compute(when.condition, columns), _as(when.result, kind, columns)
        holds = f.coalesce(condition.value, f.lit(False))
        value = f.when(holds, result.value).otherwise(value)
        taken = result.failed if result.failed is not None else f.lit(False)
        failed = f.when(holds, taken).otherwise(failed)
        if condition.failed is not None:
            failed = condition.failed | failed
    return Computed(value, failed)


def _as(node: e.Expression, kind: t.SqlType, columns: Columns) -> Computed:
    if node.type == t.NULL:
        return Computed(f.lit(None).cast(spark_type(kind)))
    return _compute(node if node.type == kind else e.Cast(node, kind), columns)


def _cast(node: e.Cast, columns: Columns) -> Computed:
    of = _compute(node.of, columns)
    source, target = node.of.type, node.to
    if source == target:
        return of
    if source == t.NULL:
        return Computed(f.lit(None).cast(spark_type(target)))
    convert = _CASTS.get((source, target))
    if convert is None:
        raise NotInSpark(f"a cast from {source} to {target}")
    value, failed = convert(of.value)
    return Computed(value, _any(of.failed, failed))


def _from_text(pattern: str, kind: str) -> Callable[[Column], tuple[Column, Column]]:
    def convert(text: Column) -> tuple[Column, Column]:
        read = f.when(f.rlike(text, f.lit(pattern)), text.try_cast(kind))
        return read, text.isNotNull() & read.isNull()

    return convert


def _saturated(low: int, high: int, kind: str) -> Callable[[Column], tuple[Column, None]]:
    """`(int) double`: at the bounds beyond them, 0 for NaN."""

    def convert(value: Column) -> tuple[Column, None]:
        bounded = (
            f.when(f.isnan(value), f.lit(0).cast(kind))
            .when(value >= float(high), f.lit(high).cast(kind))
            .when(value <= float(low), f.lit(low).cast(kind))
            .otherwise(value.try_cast(kind))
        )
        return f.when(value.isNotNull(), bounded), None

    return convert


def _plain(kind: str) -> Callable[[Column], tuple[Column, None]]:
    return lambda value: (value.cast(kind), None)


_WHOLE_TEXT: Final = r"\A[+-]?[0-9]{1,39}\z"
_CASTS: Final[dict[tuple[t.SqlType, t.SqlType], Callable[[Column], tuple[Column, Column | None]]]] = {
    (t.INTEGER, t.BIGINT): _plain("bigint"),
    (t.INTEGER, t.DOUBLE): _plain("double"),
    (t.BIGINT, t.DOUBLE): _plain("double"),
    (t.BIGINT, t.INTEGER): lambda value: (_narrowed(value, t.INTEGER), None),
    (t.DOUBLE, t.INTEGER): _saturated(numbers.INT_MIN, numbers.INT_MAX, "int"),
    (t.DOUBLE, t.BIGINT): _saturated(numbers.LONG_MIN, numbers.LONG_MAX, "bigint"),
    (t.INTEGER, t.STRING): _plain("string"),
    (t.BIGINT, t.STRING): _plain("string"),
    (t.BOOLEAN, t.STRING): _plain("string"),
    (t.STRING, t.INTEGER): _from_text(_WHOLE_TEXT, "int"),
    (t.STRING, t.BIGINT): _from_text(_WHOLE_TEXT, "bigint"),
}


def _array(node: e.ArrayOf, columns: Columns) -> Computed:
    items = [_as(item, node.item, columns) for item in node.items]
    if not items:
        raise NotInSpark("an array without items")
    return Computed(f.array(*(item.value for item in items)), _any(*(item.failed for item in items)))


def _struct(node: e.StructOf, columns: Columns) -> Computed:
    items = [(name, _compute(part, columns)) for name, part in node.items]
    made = f.struct(*(item.value.alias(name) for name, item in items))
    return Computed(made, _any(*(item.failed for _, item in items)))


_SAME_CALLS: Final = ("COALESCE", "IFNULL", "AS_VALUE")


def _call(node: e.Call, columns: Columns) -> Computed:
    if node.name not in _SAME_CALLS or node.kind not in _SIMPLE:
        raise NotInSpark(node.name)
    arguments = [_as(argument, node.kind, columns) for argument in node.arguments]
    failed = _any(*(argument.failed for argument in arguments))
    return Computed(f.coalesce(*(argument.value for argument in arguments)), failed)


_COMPILERS: Final[dict[type, Callable[[Any, Columns], Computed]]] = {
    e.Literal: _literal,
    e.Column: _column,
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
    e.StructOf: _struct,
    e.Call: _call,
}
