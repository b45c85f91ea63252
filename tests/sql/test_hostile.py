"""Statements that mean harm: they end soon, with a plan or with an error that says what to do."""

from __future__ import annotations

import pytest

from penstock.sql.engine import Engine
from penstock.sql.errors import SqlError
from penstock.sql.parsing import parse
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
