"""Expressions stand wherever a function does."""

from __future__ import annotations

import pickle

import pytest

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.environment import Environment, ExpressionFailure
from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.functions.resolving import call
from penstock.plan.row_functions import RecordExpression, RowExpression, RowProjection
from penstock.streams import (
    JsonSerde,
    LongSerde,
    Materialized,
    StreamsBuilder,
    StringSerde,
    TopologyTestDriver,
)

NAME, AMOUNT = e.Column("NAME", t.STRING), e.Column("AMOUNT", t.BIGINT)
HALVES = RowExpression(e.Arithmetic("/", e.Literal(10, t.BIGINT), AMOUNT))


def test_a_row_expression_sees_the_columns_of_the_value() -> None:
    double = RowExpression(e.Arithmetic("*", AMOUNT, e.Literal(2, t.INTEGER)))
    assert double({"AMOUNT": 3}) == double("key", {"AMOUNT": 3}) == 6


def test_a_record_expression_sees_key_and_value() -> None:
    both = RecordExpression(e.Arithmetic("+", e.Column("key", t.STRING), e.Column("value", t.STRING)))
    assert both("a", "b") == "ab"


def test_a_failure_is_raised_or_null_and_reported() -> None:
    with pytest.raises(EvaluationFailed, match="by zero"):
        HALVES({"AMOUNT": 0})
    seen: list[ExpressionFailure] = []
    lenient = RowExpression(HALVES.expression, null_on_failure=True)
    assert lenient({"AMOUNT": 0}) is None
    assert lenient.bound(Environment(report=seen.append))({"AMOUNT": 0}) is None
    assert [failure.row for failure in seen] == [{"AMOUNT": 0}]


def test_a_projection_computes_columns_one_by_one() -> None:
    seen: list[ExpressionFailure] = []
    projection = RowProjection((("HALF", HALVES.expression), ("NAME", NAME)))
    assert projection({"AMOUNT": 0, "NAME": "a"}) == {"HALF": None, "NAME": "a"}
    bound = pickle.loads(pickle.dumps(projection)).bound(Environment(report=seen.append))
    assert bound("key", {"AMOUNT": 0, "NAME": "a"}) == {"HALF": None, "NAME": "a"}
    assert [failure.message for failure in seen] == ["/ by zero"]


def test_it_travels_to_a_worker_after_it_was_used() -> None:
    assert HALVES({"AMOUNT": 5}) == 2
    assert pickle.loads(pickle.dumps(HALVES))({"AMOUNT": 5}) == 2


def test_a_topology_of_expressions_runs_in_the_test_driver() -> None:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=JsonSerde())
    large = builder.stream("sales").filter(
        RowExpression(e.Comparison(">=", AMOUNT, e.Literal(10, t.INTEGER)))
    )
    shouted = large.map_values(
        RowExpression(e.StructOf((("NAME", call("UCASE", [NAME])), ("AMOUNT", AMOUNT))))
    )
    shouted.group_by(RowExpression(NAME), key_serde=StringSerde(), value_serde=JsonSerde()).count(
        materialized=Materialized("Counts")
    ).to_stream().to("counts", key_serde=StringSerde(), value_serde=LongSerde())
    with TopologyTestDriver(builder.build()) as driver:
        for name, amount in (("ann", 10), ("bob", 9), ("ann", 32), ("cid", None)):
            driver.pipe("sales", "k", {"NAME": name, "AMOUNT": amount})
        assert [(record.key, record.value) for record in driver.read("counts")] == [("ANN", 1), ("ANN", 2)]
