"""Where column expressions may stand."""

from __future__ import annotations

import pytest

from penstock.kernels.stateless import PassThrough
from penstock.plan.errors import TopologyError
from penstock.plan.expressions import Rest, heads, without
from penstock.streams import ColumnExpression, LongSerde, StreamsBuilder, StringSerde

UPPER = ColumnExpression("upper(value)")
SHORT = ColumnExpression("length(value) < 9")


def builder() -> StreamsBuilder:
    return StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())


def test_expressions_right_behind_a_source_are_its_head() -> None:
    given = builder()
    given.stream("a").filter(SHORT).map_values(UPPER).to("out")
    (head,) = heads(given.build().plan)
    assert [step.name for step in head.steps] == ["KSTREAM-FILTER-0000000001", "KSTREAM-MAPVALUES-0000000002"]
    assert head.sink is not None


def test_a_python_function_ends_the_head() -> None:
    given = builder()
    given.stream("a").filter(SHORT).peek(print).to("out")
    (head,) = heads(given.build().plan)
    assert (len(head.steps), head.sink) == (1, None)


def test_what_is_left_for_python_has_one_node_for_the_whole_head() -> None:
    given = builder()
    given.stream("a").filter(SHORT).map_values(UPPER).peek(print).to("out")
    plan = given.build().plan
    rest = without(plan, {"KSTREAM-SOURCE-0000000000": Rest(StringSerde(), LongSerde(), PassThrough())})
    assert rest.column_expressions == []
    assert [node.name for node in rest.nodes] == [
        "KSTREAM-SOURCE-0000000000",
        "KSTREAM-MAPVALUES-0000000002",
        "KSTREAM-PEEK-0000000003",
        "KSTREAM-SINK-0000000004",
    ]
    assert rest.sources_by_name["KSTREAM-SOURCE-0000000000"].value_serde == LongSerde()


def test_an_expression_behind_a_python_function_is_refused_with_the_line() -> None:
    given = builder()
    given.stream("a").map_values(str.lower).filter(SHORT).to("out")
    with pytest.raises(TopologyError, match=r"(?s)before Python functions.*test_expressions\.py"):
        given.build()


def test_so_is_one_of_several_readers_of_a_topic() -> None:
    given = builder()
    given.stream("a").filter(SHORT).to("out")
    given.stream("a").to("copy")
    with pytest.raises(TopologyError, match="right behind a stream's topic"):
        given.build()


def test_so_is_one_on_a_table() -> None:
    given = builder()
    given.table("a").filter(SHORT).to_stream().to("out")
    with pytest.raises(TopologyError, match="right behind a stream's topic"):
        given.build()


def test_so_is_one_behind_an_extractor_in_python() -> None:
    given = builder()
    given.stream("a", timestamp_extractor=lambda record, _: record.timestamp).filter(SHORT).to("out")
    with pytest.raises(TopologyError, match="must see the record first"):
        given.build()


def test_after_a_repartition_expressions_may_stand_again() -> None:
    given = builder()
    lowered = given.stream("a").map_values(str.lower).repartition(value_serde=StringSerde())
    lowered.filter(SHORT).to("out")
    assert len(heads(given.build().plan)) == 1
