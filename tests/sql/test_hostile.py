"""Statements that mean harm: they end soon, with a plan or with an error that says what to do."""

from __future__ import annotations

import time
from contextlib import suppress
from random import Random

import pytest

from penstock.expressions import evaluating
from penstock.expressions.environment import Environment
from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.evaluating import evaluator
from penstock.expressions.functions import java_regex
from penstock.sql.engine import Engine
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import scope, typed
from penstock.sql.parsing import parse, parse_expression
from penstock.sql.serdes.table import row_serde

SOURCE = "CREATE STREAM s (k INT KEY, a INT, b ARRAY<INT>) WITH (kafka_topic='s', value_format='JSON');"


def run(text: str) -> Engine:
    engine = Engine(row_serde)
    for node in parse(SOURCE + text):
        engine.execute(node)
    return engine


def selected(expression: str) -> str:
    return f"CREATE STREAM o AS SELECT k, {expression} AS x FROM s;"


@pytest.mark.parametrize(
    "text",
    [
        f"CREATE STREAM o AS SELECT * FROM s WHERE a IN ({', '.join(map(str, range(5_000)))});",
        f"CREATE STREAM o AS SELECT * FROM s WHERE {' AND '.join(f'a <> {n}' for n in range(2_000))};",
        selected("+".join(["a"] * 190)),
        selected("ABS(" * 190 + "a" + ")" * 190),
        selected("REDUCE(b, 0, (s, y) => s + " * 30 + "1" + ")" * 30),
        selected("CASE " + " ".join(f"WHEN a = {n} THEN {n}" for n in range(1_000)) + " END"),
    ],
    ids=["IN", "AND", "sums", "calls", "lambdas", "CASE"],
)
def test_what_is_large_is_planned(text: str) -> None:
    assert run(text).queries


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (selected("(" * 5_000 + "a" + ")" * 5_000), "nested deeper than 200"),
        (selected("+".join(["a"] * 5_000)), "nested deeper than 200"),
        (selected(", ".join(f"a + {n}" for n in range(1_500))), "more than 1000 columns"),
        (selected("CAST(a AS " + "ARRAY<" * 500 + "INT" + ">" * 501), "the type is nested deeper than 100"),
        (selected("STRUCT(x := " * 500 + "a" + ")" * 500), "nested deeper than 200"),
    ],
)
def test_what_is_too_large_is_refused(text: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        run(text)


def test_a_chain_of_joins_is_planned_once_for_each() -> None:
    sources = "".join(
        f"CREATE STREAM s{n} (k INT KEY, v{n} INT) WITH (kafka_topic='s{n}', value_format='JSON');"
        for n in range(30)
    )
    joins = " ".join(f"JOIN s{n} WITHIN 1 HOUR ON s.k = s{n}.k" for n in range(30))
    (query,) = run(f"{sources} CREATE STREAM o AS SELECT s.k, a FROM s {joins};").queries.values()
    assert len(query.plan.nodes) < 400


def test_named_queries_cannot_grow_beyond_counting() -> None:
    before = range(59)
    names = [f"q{n + 1} AS (SELECT a FROM q{n} UNION ALL SELECT a FROM q{n})" for n in before]
    text = f"WITH q0 AS (SELECT a FROM s), {', '.join(names)} SELECT a FROM q59 EMIT CHANGES;"
    with pytest.raises(SqlError, match="more than 100 SELECTs"):
        parse(text)
    union = " UNION ALL ".join(["SELECT a FROM s"] * 5000)
    with pytest.raises(SqlError, match="more than 100 SELECTs"):
        parse(f"{union};")


def test_a_lambda_within_a_lambda_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluating, "MOST_LAMBDA_CALLS", 1_000)
    series = "GENERATE_SERIES(1, 100)"
    text = f"REDUCE({series}, 0, (s, x) => s + REDUCE({series}, 0, (u, y) => u + y))"
    failures: list[str] = []
    environment = Environment(lambda failure: failures.append(failure.message), lambda: 0, Random(0))
    assert evaluator(typed(parse_expression(text), scope({})), environment)({}) is None
    assert "a lambda was called more than 1000 times for one row" in failures[-1]
    assert len(failures) < 5


@pytest.mark.parametrize("pattern", ["(a|aa)+$", "(?=(a|aa)+c)b", "(a|aa)+\\1c"])
def test_a_regular_expression_ends(monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    monkeypatch.setattr(java_regex, "MOST_SECONDS", 0.05)
    began = time.monotonic()
    with suppress(EvaluationFailed):  # given up
        assert java_regex.java_pattern(pattern).search("a" * 60 + "b") is None
    assert time.monotonic() - began < 20
