"""Expressions and types are written as JSON and read back equal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.errors import ExpressionError
from penstock.expressions.json_form import read_expression, read_type, write_expression, write_type
from tests.expressions.strategies import EXPRESSIONS

TYPES = st.recursive(
    st.sampled_from(list(t.SIMPLE.values()))
    | st.builds(lambda scale, more: t.Decimal(scale + more, scale), st.integers(0, 9), st.integers(1, 9)),
    lambda inner: (
        st.builds(t.Array, inner)
        | st.builds(t.Map, inner, inner)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3).map(lambda d: t.struct_of(d.items()))
    ),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(EXPRESSIONS)
def test_an_expression_reads_back_equal(expression: e.Expression) -> None:
    text = json.dumps(write_expression(expression))
    assert read_expression(json.loads(text)) == expression
    assert json.dumps(write_expression(read_expression(json.loads(text)))) == text


@settings(max_examples=40, deadline=None)
@given(TYPES)
def test_a_type_reads_back_equal(kind: t.SqlType) -> None:
    assert read_type(json.loads(json.dumps(write_type(kind)))) == kind


def test_the_form_stays_as_it_is() -> None:
    large = e.Comparison(">", e.Column("AMOUNT", t.Decimal(6, 2)), e.Literal(5, t.INTEGER))
    assert write_expression(large) == {
        "comparison": [">", {"column": ["AMOUNT", {"decimal": [6, 2]}]}, {"literal": [5, "INTEGER"]}]
    }


@pytest.mark.parametrize(
    "document",
    [1, [], {}, {"nonesuch": 1}, {"literal": ["x", "INTEGER"]}, {"column": ["A", "NONESUCH"]}],
)
def test_anything_else_is_refused(document: object) -> None:
    with pytest.raises(ExpressionError):
        read_expression(document)
