"""Records that are taken at once, beside the same records taken one by one: outputs and state are equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.plan.failures import FailureLetters, ProcessingError, skip_processing
from penstock.plan.raw_records import BadRecord, DeadLetters, Produced, ProducedColumns, RecordColumns
from penstock.plan.task import Task
from penstock.streams import (
    JsonSerde,
    LongSerde,
    Materialized,
    StreamsBuilder,
    StringSerde,
    TimeWindows,
    Topology,
)

TEXTS = st.none() | st.text("ab c", max_size=6)
ROWS = st.lists(st.tuples(TEXTS, TEXTS, st.integers(0, 50), st.booleans()), max_size=12)
Describe = Callable[[StreamsBuilder], None]


def built(describe: Describe) -> Topology:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    describe(builder)
    return builder.build()


def stateless(builder: StreamsBuilder) -> None:
    lines = builder.stream("in").filter(lambda key, value: value is not None)
    words = lines.flat_map_values(str.split).map(lambda key, value: (value, key))
    words.map_values(lambda value: value or "").select_key(lambda key, value: key + value).to("words")
    lines.filter_not(lambda key, value: key is None).to("keyed")
    lines.flat_map(lambda key, value: [(value, str(n)) for n in range(len(value))]).to("places")


def counted(builder: StreamsBuilder) -> None:
    counts = builder.stream("in").group_by_key().count(materialized="counts")
    counts.to_stream().to("counts", value_serde=LongSerde())


def aggregated(builder: StreamsBuilder) -> None:
    def add(key: str, value: str, known: list[str]) -> list[str] | None:
        known.append(value)  # in place, as people do
        return None if len(known) > 3 else known

    grouped = builder.stream("in").group_by_key()
    grouped.aggregate(list, add, materialized=Materialized("lists", value_serde=JsonSerde())).to_stream().to(
        "lists", value_serde=JsonSerde()
    )


def reduced(builder: StreamsBuilder) -> None:
    builder.stream("in").group_by_key().reduce(lambda one, other: one + other).to_stream().to("longer")


def windowed(windows: TimeWindows) -> Describe:
    def describe(builder: StreamsBuilder) -> None:
        def add(key: str, value: str | None, known: list[str]) -> list[str] | None:
            known.append(value or "")
            return None if len(known) > 4 else known

        grouped = builder.stream("in").group_by_key().windowed_by(windows)
        table = grouped.aggregate(list, add, materialized=Materialized("lists", value_serde=JsonSerde()))
        table.to_stream().to("lists", value_serde=JsonSerde())

    return describe


def late_windows(builder: StreamsBuilder) -> None:
    """A store that keeps windows for a shorter time than the records of a step span."""
    grouped = builder.stream("in").group_by_key().windowed_by(TimeWindows(3, grace=2))
    counts = grouped.count(materialized=Materialized("counts", retention=5))
    counts.to_stream().to("counts", value_serde=LongSerde())


DESCRIPTIONS: Any = [
    stateless,
    counted,
    aggregated,
    reduced,
    late_windows,
    windowed(TimeWindows(10)),
    windowed(TimeWindows(10, advance=3, grace=5)),
    windowed(TimeWindows(12, advance=4, grace=20)),
]


def columns_of(rows: list[tuple[str | None, str | None, int, bool]]) -> RecordColumns:
    return RecordColumns(
        "in",
        [0] * len(rows),
        list(range(len(rows))),
        [at for _, _, at, _ in rows],
        [None if key is None else key.encode() for key, _, _, _ in rows],
        [None if value is None else value.encode() for _, value, _, _ in rows],
        [(("h", b"1"),) if marked else () for _, _, _, marked in rows],
    )


def one_by_one(task: Task, batches: list[RecordColumns]) -> Iterator[list[Produced]]:
    for columns in batches:
        for record in columns.records():
            task.process(record)
        task.flush()
        yield task.take_outputs()


def at_once(task: Task, batches: list[RecordColumns]) -> Iterator[list[Produced]]:
    for columns in batches:
        given = [record for each in task.take(columns) for record in rows_of(each)]
        task.flush()
        yield given + task.take_outputs()


def rows_of(columns: ProducedColumns) -> list[Produced]:
    keys, values, topics, partitions, times, headers = columns
    return list(map(Produced, topics, keys, values, times, headers, partitions))


def by_topic(outputs: list[Produced]) -> dict[str, list[Produced]]:
    """The order between topics says nothing."""
    found: dict[str, list[Produced]] = {}
    for output in outputs:
        found.setdefault(output.topic, []).append(output)
    return found


def state_of(task: Task) -> Any:
    """The order of rows of different keys says nothing."""
    saved = task.snapshot()
    return saved._replace(stores={name: dict(entries) for name, entries in saved.stores.items()})  # type: ignore[arg-type]


def new_task(topology: Topology, **handlers: Any) -> Task:
    return Task(topology.plan, application_id="app", emit_every_update=False, **handlers)


@pytest.mark.parametrize("describe", DESCRIPTIONS)
@given(batches=st.lists(ROWS, min_size=1, max_size=3))
@settings(max_examples=60)
def test_at_once_and_one_by_one_are_the_same(describe: Describe, batches: list[Any]) -> None:
    topology = built(describe)
    ours, theirs = new_task(topology), new_task(topology)
    columns = [columns_of(rows) for rows in batches]
    for mine, expected in zip(at_once(ours, columns), one_by_one(theirs, columns), strict=True):
        assert by_topic(mine) == by_topic(expected)
    assert state_of(ours) == state_of(theirs)
    assert ours.state.metadata == theirs.state.metadata


@pytest.mark.parametrize("describe", DESCRIPTIONS)
def test_these_plans_have_a_path(describe: Describe) -> None:
    assert new_task(built(describe))._inlet("in").batch_path is not None


@pytest.mark.parametrize(
    "describe",
    [
        lambda b: b.stream("in").peek(print).to("out"),
        lambda b: (b.stream("in").to("out"), b.stream("in").filter(bool).to("out")),
        lambda b: b.stream("in").to(lambda key, value, context: "out"),
    ],
    ids=["a function with an effect", "two ways to one topic", "a topic for each record"],
)
def test_other_plans_have_none(describe: Any) -> None:
    assert new_task(built(describe))._inlet("in").batch_path is None


def failing(builder: StreamsBuilder) -> None:
    def refuse(value: str) -> str:
        if "b" in (value or ""):
            raise ValueError(value)
        return value

    builder.stream("in").map_values(refuse).to("out")


def failing_aggregate(builder: StreamsBuilder) -> None:
    def join(one: str, other: str) -> str:
        if "b" in other:
            raise ValueError(other)
        return one + other

    builder.stream("in").group_by_key().reduce(join).to_stream().to("out")


@pytest.mark.parametrize("describe", [failing, failing_aggregate])
@pytest.mark.parametrize("on_failure", [skip_processing, FailureLetters("letters")], ids=["skip", "letters"])
@given(rows=ROWS)
@settings(max_examples=40)
def test_a_function_that_fails_costs_its_record_alone(
    describe: Describe, on_failure: Any, rows: list[Any]
) -> None:
    topology = built(describe)
    ours, theirs = (new_task(topology, on_failure=on_failure) for _ in range(2))
    columns = [columns_of(rows)]
    [mine], [expected] = at_once(ours, columns), one_by_one(theirs, columns)
    assert [each[:4] for each in mine] == [each[:4] for each in expected]
    assert state_of(ours) == state_of(theirs)


@pytest.mark.parametrize("describe", [failing, failing_aggregate])
def test_without_a_handler_the_error_names_the_record(describe: Describe) -> None:
    rows = [("k", "a", 1, False), ("k", "a", 2, False), ("k", "b", 3, False)]
    with pytest.raises(ProcessingError, match="offset 2 of in-0: ValueError: b"):
        new_task(built(describe)).take(columns_of(rows))


@pytest.mark.parametrize("describe", [stateless, counted])
def test_a_record_that_cannot_be_read_is_found(describe: Describe) -> None:
    good = columns_of([("k", "a", 1, False), ("k", "a", 2, False)])
    columns = good._replace(values=[b"a", b"\xff"])
    topology = built(describe)
    with pytest.raises(BadRecord, match="in-0 at offset 1"):
        new_task(topology).take(columns)
    task = new_task(topology, on_bad_record=DeadLetters("bad"))
    [outputs] = at_once(task, [columns])
    assert [output.value for output in outputs if output.topic == "bad"] == [b"\xff"]
