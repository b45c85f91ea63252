"""Expressions that the JVM computes give what the same functions give in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.plan.errors import TopologyError
from penstock.spark.host.expressions import compiled
from penstock.streams import (
    ColumnExpression,
    JsonSerde,
    LongSerde,
    Processor,
    Record,
    StreamsBuilder,
    StringSerde,
    Topology,
    TopologyTestDriver,
)
from tests.spark.host.conftest import Run, Topics

pytestmark = pytest.mark.timeout(300)

Choose = Callable[[Any, str], Any]
OUTPUTS = ("shouted", "sums", "halves", "times", "again")
LETTERS = "unreadable"
WORDS = [("ann", "be"), ("bob", None), ("ann", "question"), (None, "or not"), ("bob", "x" * 20)]
NUMBERS = [("ann", 5), ("ann", -3), ("bob", 2**40), ("bob", None)]


class Times(Processor):
    """Tells stream time."""

    def process(self, record: Record) -> None:
        self.context.forward(record.with_value(self.context.current_stream_time_ms))


def topology(choose: Choose) -> Topology:
    """With Python functions or with expressions, as `choose` says."""
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    short = choose(lambda _, value: value is not None and len(value) < 9, "length(value) < 9")
    (  # all of it in the JVM
        builder.stream("words")
        .filter(short)
        .map_values(choose(str.upper, "upper(value)"))
        .select_key(choose(lambda key, value: value[:2], "left(value, 2)"))
        .to("shouted")
    )
    (  # numbers, and a key that Python groups by
        builder.stream("numbers", value_serde=LongSerde())
        .filter_not(choose(lambda _, value: value is None, "value is null"))
        .map(choose(lambda key, value: (key + "!", value + 1), "struct(concat(key, '!') k, value + 1 v)"))
        .group_by_key(value_serde=LongSerde())
        .reduce(lambda one, other: one + other)
        .to_stream()
        .to("sums", value_serde=LongSerde())
    )
    (  # a form of its own between the JVM and Python
        builder.stream("more-numbers", value_serde=LongSerde())
        .map_values(
            choose(
                lambda value: None if value is None else {"half": value / 2, "of": value},
                "if(value is null, null, struct(value / 2 half, value of))",
            )
        )
        .map_values(lambda half: half)
        .to("halves", value_serde=JsonSerde())
    )
    (  # what is left out still moves stream time
        builder.stream("timed")
        .filter(choose(lambda _, value: value != "tick", "value is distinct from 'tick'"))
        .process(Times)
        .to("times", key_serde=StringSerde(), value_serde=LongSerde())
    )
    (  # behind a repartition, in a later stage
        builder.stream("late-words")
        .map_values(str.lower)
        .repartition(value_serde=StringSerde())
        .filter(choose(lambda _, value: "e" in value, "contains(value, 'e')"))
        .to("again")
    )
    return builder.build()


def records(first: int) -> dict[str, list[tuple[Any, Any, int]]]:
    timed = [("k", "a", 100), ("k", "tick", 5000), ("k", "a", 200), ("k", None, 300), ("k", "a", 5100)]
    return {
        "words": [(*pair, first) for pair in WORDS],
        "numbers": [(*pair, first) for pair in NUMBERS],
        "more-numbers": [(*pair, first) for pair in NUMBERS],
        "timed": [(key, value, first + at) for key, value, at in timed],
        "late-words": [("k", "TO BE", first), ("k", "OR", first)],
    }


def in_python(given: dict[str, list[tuple[Any, Any, int]]]) -> dict[str, list[Any]]:
    with TopologyTestDriver(topology(lambda function, sql: function)) as driver:
        for topic, rows in given.items():
            for row in rows:
                driver.pipe(topic, *row)
        found = {}
        for topic in OUTPUTS:
            found[topic] = [(row.key, row.value, row.timestamp) for row in driver.read_raw(topic)]
        return found


def data(value: Any) -> bytes | None:
    return LongSerde().serialize("", value) if isinstance(value, int) else value and value.encode()


def test_a_topology_with_expressions_gives_what_it_gives_with_functions(run: Run, topics: Topics) -> None:
    given = records(1_790_000_000_000)
    topics.create(*given, *OUTPUTS, LETTERS, retention_ms="-1")
    for topic, rows in given.items():
        topics.write(topic, [(key, data(value), at) for key, value, at in rows])
    topics.write("words", [("ann", b"\xff\xfe", 1), ("ann", b"fine", given["words"][0][2])])
    given["words"].append(("ann", "fine", given["words"][0][2]))
    settings = {"emit.every.update": "true", "errors.dead.letter.queue.topic.name": LETTERS}
    application = run(topology(lambda function, sql: ColumnExpression(sql)), "expressed", settings)
    assert application.error is None
    assert {topic: topics.read(topic) for topic in OUTPUTS} == in_python(given)
    assert topics.read(LETTERS) == [(b"ann", b"\xff\xfe", 1)]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("uper(value)", "UNRESOLVED_ROUTINE"),
        ("value +", "PARSE_SYNTAX_ERROR"),
        ("timestamp", "cast timestamp to another type"),
    ],
)
def test_a_wrong_expression_is_told_with_the_line_before_anything_runs(
    spark: SparkSession, sql: str, reason: str
) -> None:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    builder.stream("a").map_values(ColumnExpression(sql)).to("out")
    with pytest.raises(TopologyError, match=rf"(?s){reason}.*test_expressions\.py"):
        compiled(spark, builder.build().plan)


def test_a_filter_must_be_true_or_false_and_map_needs_a_pair(spark: SparkSession) -> None:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    builder.stream("a").filter(ColumnExpression("value")).to("out")
    with pytest.raises(TopologyError, match="true or false"):
        compiled(spark, builder.build().plan)
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    builder.stream("a").map(ColumnExpression("value")).to("out")
    with pytest.raises(TopologyError, match=r"struct\(KEY, VALUE\)"):
        compiled(spark, builder.build().plan)
