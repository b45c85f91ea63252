"""Spark's columns give what the reference evaluator gives, value by value, or are not offered at all."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import Column, SparkSession
from pyspark.sql import Row as SparkRow
from pyspark.sql import functions as f
from pyspark.sql import types as s

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.evaluating import evaluator
from penstock.spark.expression_columns import column_of, spark_type
from tests.expressions.strategies import COLUMNS, EXPRESSIONS, ROWS

pytestmark = pytest.mark.timeout(300)

SCHEMA = s.StructType([s.StructField(name, spark_type(kind)) for name, kind in COLUMNS.items()])


def in_spark() -> dict[str, Column]:
    return {name: f.col(name) for name in COLUMNS}


def plain(value: Any) -> Any:
    """A value in a form that can be compared: NaN equal to itself, rows as mappings."""
    if isinstance(value, float):
        return ("NaN",) if math.isnan(value) else (value, math.copysign(1, value))
    if isinstance(value, SparkRow):
        return {name: plain(each) for name, each in value.asDict().items()}
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return bytes(value) if isinstance(value, bytearray) else value


def compare(spark: SparkSession, expressions: list[e.Expression], rows: list[dict[str, Any]]) -> int:
    columns = [(node, column) for node in expressions if (column := column_of(node, in_spark())) is not None]
    frame = spark.createDataFrame([tuple(row[name] for name in COLUMNS) for row in rows], SCHEMA)
    found = frame.select(*(column.alias(f"c{at}") for at, (_, column) in enumerate(columns))).collect()
    for at, (node, _) in enumerate(columns):
        expected = [plain(evaluator(node)(row)) for row in rows]
        assert [plain(row[at]) for row in found] == expected, node
    return len(columns)


@pytest.mark.parametrize("ansi", [True, False])
@settings(
    max_examples=3,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(EXPRESSIONS, min_size=20, max_size=20), st.lists(ROWS, min_size=12, max_size=12))
def test_columns_give_what_the_evaluator_gives(
    spark: SparkSession, ansi: bool, expressions: list[e.Expression], rows: list[dict[str, Any]]
) -> None:
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        compare(spark, expressions, rows)
    finally:
        spark.conf.set("spark.sql.ansi.enabled", True)


N, J, L, M, D, F, B, S = (e.Column(name, COLUMNS[name]) for name in ("I", "J", "L", "M", "D", "F", "B", "S"))
EDGES = [
    *(e.Arithmetic(op, N, J) for op in e.ARITHMETIC),
    *(e.Arithmetic(op, L, M) for op in ("+", "-", "/", "%")),
    *(e.Arithmetic(op, D, F) for op in ("+", "-", "*")),
    *(e.Comparison(op, D, F) for op in e.COMPARISONS),
    *(e.Comparison(op, L, D) for op in e.COMPARISONS),
    *(e.Comparison(op, L, N) for op in e.COMPARISONS),
    *(e.Cast(D, kind) for kind in (t.INTEGER, t.BIGINT)),
    *(e.Cast(S, kind) for kind in (t.INTEGER, t.BIGINT)),
    e.Cast(L, t.INTEGER),
    e.Negative(N),
    e.Negative(L),
    e.Negative(D),
    e.Not(B),
    e.Logical("AND", (B, e.Comparison("=", e.Arithmetic("/", N, J), N))),
    e.Logical("OR", (B, e.Comparison("=", e.Arithmetic("/", N, J), N))),
    e.Item(e.Column("A", COLUMNS["A"]), N),
    e.In(L, (e.Literal(0, t.BIGINT), e.Literal(2**63 - 1, t.BIGINT))),
    e.Like(S, e.Literal("a%c_", t.STRING)),
    e.Case((e.When(e.Comparison("<", N, J), e.Arithmetic("/", N, J)),), e.Literal(7, t.INTEGER)),
]


def test_the_edges_of_numbers_are_the_same(spark: SparkSession) -> None:
    ints = [0, 1, -1, 2, 2**31 - 1, -(2**31), None]
    longs = [0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63), None]
    doubles = [0.0, -0.0, math.nan, math.inf, -math.inf, 2.0**63, -1.5, None]
    texts = ["12", "+7", " 3", "2147483648", "9" * 39, "9" * 45, "", "a\nbcd", None]
    empty = dict.fromkeys(COLUMNS)
    rows = [
        {**empty, "I": one, "J": other, "L": longs[at % 7], "M": longs[(at // 7 + 3) % 7], "A": [1, 2]}
        for at, (one, other) in enumerate((one, other) for one in ints for other in ints)
    ]
    for at, row in enumerate(rows):
        row.update(
            D=doubles[at % 8], F=doubles[(at // 6) % 8], S=texts[at % 9], B=(True, False, None)[at % 3]
        )
    assert compare(spark, EDGES, rows) == len(EDGES)


@pytest.mark.parametrize(
    "node",
    [
        e.Comparison("<", S, S),
        e.Cast(D, t.STRING),
        e.Arithmetic("/", D, F),
        e.Arithmetic("*", L, M),
        e.Arithmetic("+", e.Column("N", COLUMNS["N"]), N),
    ],
)
def test_what_spark_does_in_another_way_is_left_to_the_evaluator(
    spark: SparkSession, node: e.Expression
) -> None:
    assert column_of(node, in_spark()) is None


def test_an_expression_that_can_fail_is_left_to_the_evaluator_if_failures_are_raised(
    spark: SparkSession,
) -> None:
    quotient = e.Arithmetic("/", N, J)
    assert column_of(quotient, in_spark()) is not None
    assert column_of(quotient, in_spark(), null_on_failure=False) is None
    assert column_of(e.Arithmetic("+", N, J), in_spark(), null_on_failure=False) is not None
