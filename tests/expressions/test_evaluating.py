"""What expressions mean: ksqlDB's ways, which are Java's."""

from __future__ import annotations

import math
import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.environment import Environment, ExpressionFailure
from penstock.expressions.errors import TypeMismatch
from penstock.expressions.evaluating import evaluator
from penstock.expressions.functions.resolving import call
from tests.expressions.strategies import COLUMNS, EXPRESSIONS, ROWS

N, J, L, D, S, B = (e.Column(name, COLUMNS[name]) for name in ("I", "J", "L", "D", "S", "B"))


def value_of(expression: e.Expression, **row: Any) -> Any:
    return evaluator(expression)(row)


def whole(value: int) -> e.Literal:
    return e.Literal(value, t.INTEGER)


def text(value: str) -> e.Literal:
    return e.Literal(value, t.STRING)


@settings(max_examples=60, deadline=None)
@given(EXPRESSIONS, ROWS)
def test_a_value_is_always_one_of_the_expressions_type(expression: e.Expression, row: dict[str, Any]) -> None:
    assert t.holds(expression.type, evaluator(expression)(row))


@pytest.mark.parametrize(
    ("operator", "left", "right", "expected"),
    [
        ("+", 2**31 - 1, 1, -(2**31)),
        ("-", -(2**31), 1, 2**31 - 1),
        ("*", 2**16, 2**16, 0),
        ("/", -7, 2, -3),
        ("/", -(2**31), -1, -(2**31)),
        ("/", 1, 0, None),
        ("%", -7, 2, -1),
        ("%", 7, -2, 1),
        ("%", 7, 0, None),
        ("+", None, 1, None),
    ],
)
def test_integers_wrap_around_and_divide_towards_zero(
    operator: str, left: int | None, right: int | None, expected: int | None
) -> None:
    assert value_of(e.Arithmetic(operator, N, J), I=left, J=right) == expected


def test_bigints_wrap_at_64_bits() -> None:
    assert value_of(e.Arithmetic("+", L, N), L=2**63 - 1, I=1) == -(2**63)


def test_doubles_divide_as_ieee_says() -> None:
    quotient = e.Arithmetic("/", D, e.Literal(0.0, t.DOUBLE))
    assert value_of(quotient, D=1.0) == math.inf
    assert math.isnan(value_of(quotient, D=0.0))


@pytest.mark.parametrize(
    ("operator", "kind", "expected"),
    [
        ("+", t.Decimal(12, 1), "8.5"),
        ("*", t.Decimal(13, 1), "15.0"),
        ("/", t.Decimal(13, 12), "0.833333333333"),
        ("%", t.Decimal(2, 1), "2.5"),
    ],
)
def test_decimals_have_the_precision_of_the_standard(operator: str, kind: t.SqlType, expected: str) -> None:
    left = e.Literal(Decimal("2.5"), t.Decimal(2, 1))
    node = e.Arithmetic(operator, left, whole(6 if operator != "/" else 3))
    assert (node.type, str(value_of(node))) == (kind, expected)


@pytest.mark.parametrize("operator", ["=", "<>", "<", "<=", ">", ">="])
def test_a_comparison_with_null_is_false(operator: str) -> None:
    assert value_of(e.Comparison(operator, N, J), I=None, J=1) is False
    assert value_of(e.Not(e.Comparison(operator, N, J)), I=None, J=1) is True


def test_distinct_from_counts_null_as_a_value() -> None:
    assert value_of(e.Comparison("IS DISTINCT FROM", N, J), I=None, J=1) is True
    assert value_of(e.Comparison("IS DISTINCT FROM", N, J), I=None, J=None) is False
    assert value_of(e.Comparison("IS NOT DISTINCT FROM", N, J), I=3, J=3) is True


def test_and_ends_at_the_first_false_and_has_no_result_for_null() -> None:
    both = e.Logical("AND", (B, e.Comparison("=", e.Arithmetic("/", N, whole(0)), J)))
    assert value_of(both, B=False, I=1, J=1) is False
    assert value_of(both, B=None, I=1, J=1) is None


def test_text_is_compared_with_dates_as_a_date() -> None:
    day = e.Column("DAY", t.DATE)
    assert value_of(e.Comparison("<", day, text("2020-01-02")), DAY=18262) is True


def test_items_of_arrays_count_from_one_and_from_the_end() -> None:
    items = e.Column("A", t.Array(t.INTEGER))
    found = [value_of(e.Item(items, whole(at)), A=[1, 2, 3]) for at in (1, 3, -1, -3, 0, 4, -4)]
    assert found == [1, 3, 3, 1, None, None, None]


@pytest.mark.parametrize(
    ("given_", "pattern", "escape", "expected"),
    [
        ("abc", "a%", None, True),
        ("abc", "_b_", None, True),
        ("abc", "b%", None, False),
        ("a\nc", "a%c", None, True),
        ("50%", "50!%", "!", True),
        ("500", "50!%", "!", False),
        ("a.c", "a.c", None, True),
        ("abc", "a.c", None, False),
        ("", "%", None, True),
    ],
)
def test_like(given_: str, pattern: str, escape: str | None, expected: bool) -> None:
    assert value_of(e.Like(S, text(pattern), escape), S=given_) is expected


@pytest.mark.parametrize(
    ("source", "value", "target", "expected"),
    [
        (t.STRING, "12", t.INTEGER, 12),
        (t.STRING, "2147483648", t.INTEGER, None),
        (t.STRING, " 12", t.INTEGER, None),
        (t.STRING, "1.5", t.DOUBLE, 1.5),
        (t.STRING, "TRUE", t.BOOLEAN, True),
        (t.STRING, "yes", t.BOOLEAN, False),
        (t.STRING, "1.005", t.Decimal(3, 2), Decimal("1.01")),
        (t.STRING, "10.0", t.Decimal(3, 2), None),
        (t.STRING, "2020-02-29", t.DATE, 18321),
        (t.STRING, "2021-02-29", t.DATE, None),
        (t.STRING, "10:20:30", t.TIME, 37_230_000),
        (t.STRING, "1970-01-02T00:00:00.001", t.TIMESTAMP, 86_400_001),
        (t.STRING, "1970-01-01T02:00:00+0200", t.TIMESTAMP, 0),
        (t.STRING, "1970", t.TIMESTAMP, 0),
        (t.DOUBLE, 1e10, t.INTEGER, 2**31 - 1),
        (t.DOUBLE, -1.9, t.INTEGER, -1),
        (t.DOUBLE, math.nan, t.BIGINT, 0),
        (t.BIGINT, 2**32 + 1, t.INTEGER, 1),
        (t.Decimal(3, 1), Decimal("12.9"), t.INTEGER, 12),
        (t.DOUBLE, 1e7, t.STRING, "1.0E7"),
        (t.DOUBLE, 0.001, t.STRING, "0.001"),
        (t.DOUBLE, 1946195068359375.0, t.STRING, "1.946195068359375E15"),
        (t.DOUBLE, 5e-324, t.STRING, "4.9E-324"),
        (t.Decimal(3, 2), Decimal("1.10"), t.STRING, "1.10"),
        (t.TIMESTAMP, 1, t.STRING, "1970-01-01T00:00:00.001"),
        (t.DATE, -1, t.STRING, "1969-12-31"),
        (t.TIME, 3_600_000, t.STRING, "01:00"),
        (t.TIMESTAMP, 86_400_001, t.DATE, 1),
        (t.TIMESTAMP, 86_400_001, t.TIME, 1),
        (t.Array(t.INTEGER), [1, None], t.STRING, "[1, null]"),
        (t.Array(t.INTEGER), [1, None], t.Array(t.STRING), ["1", None]),
        (t.Map(t.STRING, t.DOUBLE), {"a": 1.0}, t.STRING, "{a=1.0}"),
    ],
)
def test_casts(source: t.SqlType, value: Any, target: t.SqlType, expected: Any) -> None:
    assert value_of(e.Cast(e.Column("C", source), target), C=value) == expected


def test_case_gives_the_first_result_that_holds_in_the_common_type() -> None:
    node = e.Case((e.When(e.Comparison("<", N, whole(0)), whole(1)),), e.Literal(2.5, t.DOUBLE))
    assert [value_of(node, I=value) for value in (-1, 1)] == [1.0, 2.5]
    assert isinstance(value_of(node, I=-1), float)


def test_what_fails_is_reported_and_null() -> None:
    seen: list[ExpressionFailure] = []
    compute = evaluator(e.Arithmetic("/", N, whole(0)), Environment(report=seen.append))
    assert compute({"I": 1}) is None
    assert [(failure.where, failure.message) for failure in seen] == [("expression", "/ by zero")]


@pytest.mark.parametrize(
    "build",
    [
        lambda: e.Arithmetic("+", S, N),
        lambda: e.Comparison("=", S, N),
        lambda: e.Comparison("<", B, B),
        lambda: e.Logical("AND", (B, N)),
        lambda: e.Field(N, "X"),
        lambda: e.Item(N, N),
        lambda: e.Cast(B, t.INTEGER),
        lambda: call("UCASE", [N]),
        lambda: call("NONESUCH", [N]),
    ],
)
def test_operands_that_do_not_fit_are_refused_when_the_tree_is_built(build: Any) -> None:
    with pytest.raises(TypeMismatch):
        build()


def test_a_misspelt_function_gets_a_proposal() -> None:
    with pytest.raises(TypeMismatch, match="Did you mean UCASE"):
        call("UCASS", [S])


def test_nesting_is_bounded() -> None:
    node: e.Expression = N
    for _ in range(e.MAX_DEPTH - 1):
        node = e.Negative(node)
    assert value_of(node, I=1) == -1
    with pytest.raises(TypeMismatch, match="nested deeper than 200"):
        e.Negative(node)


def test_a_hostile_like_pattern_takes_no_time() -> None:
    began = time.monotonic()
    assert value_of(e.Like(S, text("%a" * 30 + "b")), S="a" * 3_000) is False
    assert time.monotonic() - began < 5


def test_a_huge_in_list_is_looked_up() -> None:
    node = e.In(L, tuple(e.Literal(n, t.BIGINT) for n in range(50_000)))
    compute = evaluator(node)
    assert [compute({"L": value}) for value in (49_999, 50_000, None)] == [True, False, False]
