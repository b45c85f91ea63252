"""Plans are written as JSON and read back equal; without code where they have none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.kernels.serdes import LongSerde, StringSerde
from penstock.kernels.stateless import Filter, MapValues, SelectKey
from penstock.plan.errors import TopologyError
from penstock.plan.nodes import Node, Sink, Source
from penstock.plan.plan import Plan
from penstock.plan.row_functions import RecordExpression, RowExpression
from penstock.plan.row_schemas import ColumnSchema, Format, RowSchema
from penstock.plan.serial import FORMAT, from_json, to_json
from penstock.plan.tags import CLASSES, TAGS
from penstock.streams import Materialized, StreamsBuilder
from tests.expressions.strategies import COLUMNS, EXPRESSIONS, booleans

SCHEMA = RowSchema(
    (ColumnSchema("I", t.INTEGER),),
    tuple(ColumnSchema(name, kind) for name, kind in COLUMNS.items() if name != "I"),
    Format("KAFKA", wrapped=False),
    Format("JSON", (("k", "v"),)),
)
FUNCTIONS = st.builds(RowExpression, EXPRESSIONS, st.booleans()) | st.builds(RecordExpression, EXPRESSIONS)
STEPS = st.one_of(
    st.builds(Filter, st.builds(RowExpression, booleans(1)), st.booleans()),
    st.builds(MapValues, FUNCTIONS),
    st.builds(SelectKey, FUNCTIONS),
)


def plan_of(steps: list[Filter | MapValues | SelectKey]) -> Plan:
    nodes = [Node("source", Source(StringSerde(), LongSerde(), ("in",), schema=SCHEMA))]
    for number, step in enumerate(steps):
        nodes.append(Node(f"step-{number}", step, (nodes[-1].name,)))
    sink = Sink(StringSerde(), LongSerde(), "out", schema=SCHEMA)
    return Plan((*nodes, Node("sink", sink, (nodes[-1].name,))))


@settings(max_examples=15, deadline=None)
@given(st.lists(STEPS, max_size=4))
def test_a_plan_of_data_reads_back_equal_without_being_trusted(
    steps: list[Filter | MapValues | SelectKey],
) -> None:
    plan = plan_of(steps)
    text = to_json(plan)
    again = from_json(text, trusted=False)
    assert again == plan
    assert to_json(again) == text
    assert "penstock." not in text


def test_a_plan_with_functions_is_refused_unless_it_is_trusted() -> None:
    text = to_json(plan_of([MapValues(str.upper)]))
    assert from_json(text) == plan_of([MapValues(str.upper)])
    with pytest.raises(TopologyError, match="which is code"):
        from_json(text, trusted=False)


def test_the_form_of_a_plan_stays() -> None:
    doubled = e.Arithmetic("+", e.Column("A", t.BIGINT), e.Column("A", t.BIGINT))
    plan = Plan((Node("in", Source(StringSerde(), LongSerde(), ("a",))),))
    assert json.loads(to_json(plan))["format"] == FORMAT
    assert json.loads(to_json(plan))["plan"]["with"]["nodes"][0]["with"]["operation"]["type"] == "Source"
    step = json.loads(to_json(plan_of([MapValues(RowExpression(doubled))])))["plan"]["with"]["nodes"][1]
    column = {"column": ["A", "BIGINT"]}
    computed = {
        "type": "RowExpression",
        "with": {
            "expression": {"expression": {"arithmetic": ["+", column, column]}},
            "null_on_failure": False,
        },
    }
    assert step["with"]["operation"] == {
        "type": "MapValues",
        "with": {"function": computed, "with_key": False},
    }


def test_format_1_wrote_modules_and_can_still_be_read() -> None:
    text = (
        '{"format":1,"plan":{"type":"penstock.plan.plan:Plan","nodes":[{"type":"penstock.plan.nodes:Node",'
        '"name":"in","operation":{"type":"penstock.plan.nodes:Source",'
        '"key_serde":{"type":"penstock.kernels.serdes:StringSerde"},'
        '"value_serde":{"type":"penstock.kernels.serdes:LongSerde"},"topics":["a"]}}]}}'
    )
    assert from_json(text) == Plan((Node("in", Source(StringSerde(), LongSerde(), ("a",))),))


def test_no_two_parts_of_a_plan_have_one_tag() -> None:
    assert len(CLASSES) == len(TAGS)


def test_steps_name_their_stores_and_topics() -> None:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    by_value = builder.stream("in").group_by(
        RecordExpression(e.Column("value", t.STRING)), key_serde=StringSerde(), name="Aggregate-GroupBy"
    )
    by_value.count(materialized=Materialized("Aggregate-Aggregate-Materialize")).to_stream().to(
        "out", value_serde=LongSerde()
    )
    plan = builder.build().plan
    assert plan.changelog_name("Aggregate-Aggregate-Materialize", "app") == (
        "app-Aggregate-Aggregate-Materialize-changelog"
    )
    assert [topic.name for topic in plan.internal_topics] == ["Aggregate-GroupBy-repartition"]
