"""Functions give what ksqlDB's documentation says, and null with a report where they fail."""

from __future__ import annotations

import re
import time

import pytest

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.environment import Environment, ExpressionFailure
from penstock.expressions.errors import TypeMismatch
from penstock.expressions.evaluating import evaluator
from penstock.expressions.functions.catalogue import SCALARS
from penstock.expressions.functions.java_regex import java_pattern
from penstock.expressions.functions.resolving import call
from penstock.expressions.functions.signatures import parse
from penstock.expressions.json_form import read_expression, write_expression
from penstock.sql.expression_analysis import scope, typed
from penstock.sql.parsing import parse_expression
from tests.expressions.golden_functions import cases, result


@pytest.mark.parametrize(("text", "expected"), cases())
def test_a_function_gives_what_is_documented(text: str, expected: str) -> None:
    assert result(text) == expected


def test_there_are_129_functions_and_each_has_a_golden_case() -> None:
    named = {name for text, _ in cases() for name in re.findall(r"\b([A-Z][A-Z0-9_]+)\(", text)}
    assert len(SCALARS) == 129
    assert set(SCALARS) - named == set()


def test_every_function_says_what_it_does() -> None:
    assert [name for name, function in SCALARS.items() if not function.description] == []


def test_every_golden_call_reads_back_from_json() -> None:
    for text, expected in cases():
        if not expected.startswith("refused"):
            node = typed(parse_expression(text), scope({}))
            assert read_expression(write_expression(node)) == node


def test_a_scalar_that_fails_is_null_and_the_rest_of_the_expression_lives_on() -> None:
    seen: list[ExpressionFailure] = []
    node = typed(parse_expression("COALESCE(PARSE_DATE(s, 'yyyy'), FROM_DAYS(1))"), scope({"S": t.STRING}))
    compute = evaluator(node, Environment(report=seen.append))
    assert compute({"S": "x"}) == 1
    assert [(failure.where, failure.row) for failure in seen] == [("PARSE_DATE", {"S": "x"})]


def test_clock_and_chance_are_handed_in() -> None:
    for text in ("UNIX_TIMESTAMP()", "RANDOM()", "UUID()"):
        seen: list[ExpressionFailure] = []
        compute = evaluator(typed(parse_expression(text), scope({})), Environment(report=seen.append))
        assert compute({}) is None
        assert "There is no" in seen[0].message


def test_arguments_are_widened_and_the_closest_signature_is_taken() -> None:
    number = e.Column("I", t.INTEGER)
    assert call("ABS", [number]).signature == "ABS(INT) -> INT"
    assert call("SQRT", [number]).arguments == (e.Cast(number, t.DOUBLE),)
    assert call("ROUND", [e.Column("N", t.Decimal(5, 2))]).type == t.Decimal(4, 0)


def test_a_call_that_fits_no_signature_is_refused_with_all_of_them() -> None:
    with pytest.raises(TypeMismatch, match=r"(?s)does not accept parameters \(BOOLEAN\).*LEN\(STRING\)"):
        call("LEN", [e.TRUE])


def test_signatures_are_read_with_letters_lambdas_and_any_number_of_arguments() -> None:
    signature = parse("F(ARRAY<T>, STRING..., LAMBDA(T, INT) -> MAP<STRING, T>) -> STRUCT<K T>")
    assert [str(parameter) for parameter in signature.parameters] == [
        "ARRAY<T>",
        "STRING",
        "LAMBDA(T, INTEGER) -> MAP<STRING, T>",
    ]
    assert (signature.variadic, str(signature.result)) == (1, "STRUCT<K T>")


def test_a_hostile_pattern_takes_no_time() -> None:
    began = time.monotonic()
    assert java_pattern("(a+)+b").search("a" * 5_000) is None
    assert time.monotonic() - began < 5


def test_a_lambda_sees_columns_and_the_lambdas_around_it() -> None:
    columns = {"N": t.INTEGER, "A": t.Array(t.Array(t.INTEGER))}
    node = typed(
        parse_expression("TRANSFORM(a, x => TRANSFORM(x, y => y * n + ARRAY_LENGTH(x)))"), scope(columns)
    )
    assert evaluator(node)({"N": 10, "A": [[1], [2, 3]]}) == [[11], [22, 32]]
