"""Aggregations: what they give, merge and undo."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.expressions import types as t
from penstock.expressions.errors import EvaluationFailed, TypeMismatch
from penstock.expressions.functions.aggregates import AGGREGATES, LIMIT, Aggregate, aggregate
from penstock.expressions.functions.table_functions import TABLE_FUNCTIONS, table_function

MONEY = t.Decimal(5, 2)


def folded(function: Aggregate, rows: list[tuple[Any, ...]]) -> Any:
    state = function.initial()
    for row in rows:
        state = function.add(state, *row)
    return state


def of(*values: Any) -> list[tuple[Any, ...]]:
    return [(value,) for value in values]


@pytest.mark.parametrize(
    ("name", "kinds", "constants", "rows", "expected"),
    [
        ("COUNT", [], [], [(), ()], 2),
        ("COUNT", [t.STRING], [], of("a", None, "b"), 2),
        ("SUM", [t.INTEGER], [], of(1, None, 2), 3),
        ("SUM", [t.INTEGER], [], of(2**31 - 1, 1), -(2**31)),
        ("SUM", [MONEY], [], of(Decimal("1.10"), Decimal("2.05")), Decimal("3.15")),
        ("SUM_LIST", [t.Array(t.BIGINT)], [], of([1, 2], None, [3, None]), 6),
        ("AVG", [t.INTEGER], [], of(1, None, 2), 1.5),
        ("AVG", [t.INTEGER], [], [], 0.0),
        ("MAX", [t.STRING], [], of("a", None, "B"), "a"),
        ("MIN", [t.DOUBLE], [], of(2.0, 1.0), 1.0),
        ("MIN", [t.DATE], [], [], None),
        ("COLLECT_LIST", [t.INTEGER], [], of(1, None, 1), [1, None, 1]),
        ("COLLECT_SET", [t.INTEGER], [], of(1, 2, 1), [1, 2]),
        ("COUNT_DISTINCT", [t.STRING], [], of("a", "b", None, "a"), 2),
        ("HISTOGRAM", [t.STRING], [], of("a", "b", "a"), {"a": 2, "b": 1}),
        ("ATTR", [t.STRING], [], of("a", "a"), "a"),
        ("ATTR", [t.STRING], [], of("a", "b"), None),
        ("LATEST_BY_OFFSET", [t.INTEGER], [], of(1, 2, None), 2),
        ("LATEST_BY_OFFSET", [t.INTEGER], [False], of(1, 2, None), None),
        ("LATEST_BY_OFFSET", [t.INTEGER], [2], of(1, 2, None, 3), [2, 3]),
        ("EARLIEST_BY_OFFSET", [t.INTEGER], [], of(None, 1, 2), 1),
        ("EARLIEST_BY_OFFSET", [t.INTEGER], [2], of(1, 2, 3), [1, 2]),
        ("EARLIEST_BY_OFFSET", [t.INTEGER], [2, False], of(None, 2, 3), [None, 2]),
        ("TOPK", [t.INTEGER], [2], of(1, 3, 2, 3), [3, 3]),
        ("TOPKDISTINCT", [t.INTEGER], [2], of(1, 3, 2, 3), [3, 2]),
        ("TOPK", [t.INTEGER, t.STRING], [1], [(1, "a"), (2, "b")], [{"sort_col": 2, "col0": "b"}]),
        ("STDDEV_SAMP", [t.INTEGER], [], of(0, 10), 50.0),
        ("STDDEV_SAMPLE", [t.INTEGER], [], of(0, 10), math.sqrt(50)),
        ("CORRELATION", [t.INTEGER, t.DOUBLE], [], [(1, 2.0), (2, 4.0), (3, 6.0)], 1.0),
    ],
)
def test_an_aggregation_gives_what_is_documented(
    name: str, kinds: list[t.SqlType], constants: list[Any], rows: list[tuple[Any, ...]], expected: Any
) -> None:
    function = aggregate(name, kinds, constants)
    assert function.result(folded(function, rows)) == expected
    half = len(rows) // 2
    merged = function.merge(folded(function, rows[:half]), folded(function, rows[half:]))
    assert function.result(merged) == expected


def test_there_are_eighteen_aggregations_and_two_table_functions() -> None:
    assert (len(AGGREGATES), len(TABLE_FUNCTIONS)) == (18, 2)
    assert all(function.description for function in AGGREGATES.values())


UNDOABLE = ("COUNT", "SUM", "AVG", "COLLECT_LIST", "ATTR", "STDDEV_SAMP", "STDDEV_SAMPLE")


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(UNDOABLE),
    st.lists(st.none() | st.integers(-1000, 1000), max_size=8),
    st.data(),
)
def test_a_row_that_is_taken_out_again_leaves_no_trace(
    name: str, values: list[int | None], data: st.DataObject
) -> None:
    function = aggregate(name, [t.BIGINT])
    assert function.undo is not None
    removed = data.draw(st.lists(st.sampled_from(values), max_size=len(values))) if values else []
    state = folded(function, of(*values, *removed))
    for value in reversed(removed):
        state = function.undo(state, value)
    left, expected = function.result(state), function.result(folded(function, of(*values)))
    assert left == pytest.approx(expected) if isinstance(expected, float) else left == expected


def test_functions_that_cannot_forget_a_row_say_so() -> None:
    kinds = {"MAX": [t.INTEGER], "COLLECT_SET": [t.INTEGER], "LATEST_BY_OFFSET": [t.INTEGER]}
    assert [aggregate(name, kind).undo for name, kind in kinds.items()] == [None] * 3


def test_lists_are_bounded() -> None:
    function = aggregate("COLLECT_LIST", [t.INTEGER])
    assert len(folded(function, of(*range(LIMIT + 5)))) == LIMIT


def test_distinct_values_are_counted_within_a_few_percent() -> None:
    function = aggregate("COUNT_DISTINCT", [t.BIGINT])
    state = folded(function, of(*(n % 20_000 for n in range(3_000)), *range(3_000, 6_000)))
    assert function.result(state) == pytest.approx(6_000, rel=0.08)
    other = folded(function, of(*range(5_000, 8_000)))
    assert function.result(function.merge(state, other)) == pytest.approx(8_000, rel=0.08)


@pytest.mark.parametrize(
    ("name", "kinds", "constants"),
    [("SUM", [t.STRING], []), ("NONESUCH", [], []), ("TOPK", [t.INTEGER], []), ("AVG", [t.INTEGER] * 2, [])],
)
def test_arguments_that_do_not_fit_are_refused(
    name: str, kinds: list[t.SqlType], constants: list[Any]
) -> None:
    with pytest.raises(TypeMismatch):
        aggregate(name, kinds, constants)


def test_table_functions_make_rows() -> None:
    kind, explode = table_function("EXPLODE", [t.Array(t.STRING)])
    assert (kind, explode(["a", None]), explode(None)) == (t.STRING, ["a", None], [])
    kind, cube = table_function("CUBE_EXPLODE", [t.Array(t.INTEGER)])
    assert cube([1, 2]) == [[None, None], [None, 2], [1, None], [1, 2]]
    assert cube([1, None]) == [[None, None], [1, None]]
    with pytest.raises(EvaluationFailed, match="16 columns at most"):
        cube(list(range(17)))
