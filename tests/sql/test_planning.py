"""CREATE STREAM … AS SELECT becomes a plan that runs in a task, and that is data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from penstock.kernels.serdes import IntSerde, Serde, StringSerde
from penstock.plan.plan import Plan
from penstock.plan.raw_records import RawRecord
from penstock.plan.row_schemas import ColumnSchema, Format
from penstock.plan.rules import rewrite
from penstock.plan.serial import from_json, to_json
from penstock.plan.task import Task
from penstock.sql.engine import Engine
from penstock.sql.errors import SqlError
from penstock.sql.parsing import parse_statement
from penstock.sql.sources import DataSource
from penstock.streams import JsonSerde

SALES = "CREATE STREAM sales (id INT KEY, who STRING, amount INT) WITH (kafka_topic='s', value_format='JSON')"


def serde_of(form: Format, columns: Sequence[ColumnSchema], key: bool) -> Serde[Any]:
    """Enough for these tests: INT and STRING keys, JSON values."""
    if form.name == "JSON":
        return JsonSerde()
    return StringSerde() if columns and str(columns[0].type) == "STRING" else IntSerde()


def planned(text: str, *sources: str) -> tuple[DataSource, Plan]:
    engine = Engine(serde_of)
    for source in (SALES, *sources):
        engine.execute(parse_statement(source))
    made = engine.execute(parse_statement(text)).query
    assert made is not None
    return made.sink, made.plan


def run(plan: Plan, *rows: tuple[int | None, Any]) -> list[tuple[str, bytes | None, Any, int]]:
    task = Task(rewrite(plan), application_id="app")
    raw = [
        RawRecord(
            "s",
            3,
            offset,
            100 + offset,
            None if key is None else key.to_bytes(4, "big"),
            None if value is None else json.dumps(value).encode(),
        )
        for offset, (key, value) in enumerate(rows)
    ]
    made = [(r.topic, r.key, r.value, r.timestamp) for record in raw for r in task.step([record])]
    return [(topic, key, json.loads(value or b"null"), at) for topic, key, value, at in made]


def test_rows_are_filtered_projected_and_written() -> None:
    sink, plan = planned(
        "CREATE STREAM large AS SELECT id, UCASE(who) AS name, amount / 10 AS tens, rowoffset AS o, "
        "rowpartition AS p, rowtime AS r FROM sales WHERE amount > 10"
    )
    assert str(sink.schema) == (
        "`ID` INTEGER KEY, `NAME` STRING, `TENS` INTEGER, `O` BIGINT, `P` INTEGER, `R` BIGINT"
    )
    given = [
        (1, {"WHO": "ann", "AMOUNT": 25}),
        (2, {"WHO": "bob", "AMOUNT": 5}),
        (3, None),
        (4, {"WHO": "x"}),
    ]
    row = {"NAME": "ANN", "TENS": 2, "O": 0, "P": 3, "R": 100}
    assert run(plan, *given) == [("LARGE", b"\0\0\0\1", row, 100)]


def test_a_column_that_fails_is_null_and_the_row_lives_on() -> None:
    _, plan = planned("CREATE STREAM out AS SELECT id, 10 / amount AS part, who FROM sales")
    assert run(plan, (1, {"WHO": "a", "AMOUNT": 0})) == [
        ("OUT", b"\0\0\0\1", {"PART": None, "WHO": "a"}, 100)
    ]


def test_failures_are_told_with_their_step_and_the_clock_is_the_hosts() -> None:
    seen: list[tuple[str, str]] = []
    _, plan = planned(
        "CREATE STREAM o AS SELECT id, UNIX_TIMESTAMP() AS n, PARSE_DATE(who, 'y') AS d FROM sales"
    )
    task = Task(
        plan,
        application_id="app",
        now_ms=5_000,
        on_expression_failure=lambda node, failure: seen.append((node, failure.where)),
    )
    (made,) = task.step([RawRecord("s", 0, 0, 1, b"\0\0\0\1", b'{"WHO": "x"}')])
    assert json.loads(made.value or b"") == {"N": 5_000, "D": None}
    assert seen == [("Project", "PARSE_DATE")]


def test_a_filter_that_fails_lets_nothing_through() -> None:
    _, plan = planned("CREATE STREAM out AS SELECT * FROM sales WHERE 10 / amount = 5")
    assert [row[2] for row in run(plan, (1, {"AMOUNT": 0}), (2, {"AMOUNT": 2}))] == [
        {"WHO": None, "AMOUNT": 2}
    ]


def test_partition_by_writes_another_key() -> None:
    sink, plan = planned(
        "CREATE STREAM out WITH (kafka_topic='o', partitions=2) AS "
        "SELECT who, id, amount FROM sales PARTITION BY who"
    )
    assert (sink.topic, str(sink.schema)) == ("o", "`WHO` STRING KEY, `ID` INTEGER, `AMOUNT` INTEGER")
    assert run(plan, (7, {"WHO": "ann", "AMOUNT": 1})) == [("o", b"ann", {"ID": 7, "AMOUNT": 1}, 100)]
    _, without = planned("CREATE STREAM out AS SELECT who FROM sales PARTITION BY NULL")
    assert run(without, (7, {"WHO": "ann"}))[0][:2] == ("OUT", None)


@pytest.mark.parametrize(
    ("column", "properties", "values"),
    [
        ("at BIGINT", "timestamp='at'", [7, None, 9]),
        ("at STRING", "timestamp='at', timestamp_format='yyyy-MM-dd'", ["1970-01-02", "x", "1970-01-03"]),
    ],
)
def test_a_column_may_be_the_time_and_a_record_without_one_is_skipped(
    column: str, properties: str, values: list[Any]
) -> None:
    timed = f"CREATE STREAM timed ({column}) WITH (kafka_topic='s', value_format='JSON', {properties})"
    _, plan = planned("CREATE STREAM o AS SELECT at, rowtime AS r FROM timed", timed)
    times = [row[3] for row in run(plan, *((None, {"AT": value}) for value in values))]
    assert times == ([7, 9] if values[0] == 7 else [86_400_000, 172_800_000])
    assert from_json(to_json(plan)) == plan


def test_a_plan_is_data_with_the_names_of_its_steps() -> None:
    _, plan = planned("CREATE STREAM out AS SELECT id, who FROM sales WHERE amount > 1")
    assert from_json(to_json(plan)) == plan
    assert [node.name for node in plan.nodes] == [
        "KafkaTopic_Left-Source",
        "KafkaTopic_Left-Rows",
        "WhereFilter",
        "Project",
        "Project-Record",
        "OUT-Sink",
    ]


TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON')"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "CREATE TABLE o AS SELECT * FROM sales",
            "line 1:1: Invalid result type. Your SELECT query produces a",
        ),
        ("CREATE STREAM o AS SELECT * FROM sales EMIT FINAL", "line 1:20: EMIT FINAL is only supported"),
        ("CREATE STREAM o AS SELECT id FROM sales", "line 1:27: The projection contains no value columns"),
        (
            "CREATE STREAM o WITH (value_format='KAFKA') AS SELECT * FROM sales",
            "line 1:23: Value format does not support schema.",
        ),
        ("CREATE STREAM o WITH (window_type='SESSION') AS SELECT * FROM sales", "line 1:23: Invalid config"),
    ],
)
def test_what_cannot_be_planned_is_refused_at_its_place(text: str, message: str) -> None:
    with pytest.raises(SqlError) as error:
        planned(text, TABLE)
    assert str(error.value).startswith(message)
