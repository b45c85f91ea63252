"""How topologies are cut into stages."""

from __future__ import annotations

from penstock.spark.host.stages import stages
from penstock.streams import StreamsBuilder, StringSerde
from tests.golden.streams.topologies import build


def shape(topology: str, **topics: int) -> list[list[tuple[int, int, int]]]:
    """Sub-topology, turn and shards of each run, stage by stage."""
    cut = stages(build(topology).plan, topics)
    return [[(run.group, run.round_number, run.shards) for run in stage.runs] for stage in cut]


def test_what_needs_no_shuffle_is_one_stage() -> None:
    assert shape("map values", a=3) == [[(0, 0, 3)]]
    assert shape("count", a=3) == [[(0, 0, 3)]]


def test_a_new_key_makes_another_stage_with_as_many_shards() -> None:
    assert shape("group by", a=4) == [[(0, 0, 4)], [(1, 0, 4)]]


def test_a_sub_topology_waits_until_all_its_input_is_there() -> None:
    assert shape("stream table join of a new key", a=2, b=2) == [[(0, 0, 2)], [(1, 0, 2)]]


def test_sub_topologies_that_feed_each_other_take_turns() -> None:
    assert shape("foreign key join", a=2, b=2) == [[(0, 0, 2)], [(1, 0, 2)], [(0, 1, 2)]]


def test_a_table_waits_for_repartitioned_records_also_among_sub_topologies_that_feed_each_other() -> None:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    people, towns = builder.table("people"), builder.table("towns")
    people.join(towns, max, foreign_key=str).to_stream().to("at-home")
    builder.stream("orders").left_join(people, max).select_key(str).join(towns, max).to("joined")
    cut = stages(builder.build().plan, {"people": 1, "towns": 1, "orders": 1})
    assert [[run.group for run in stage.runs] for stage in cut] == [[0], [1], [0]]
    assert len(cut[1].runs[0].sources) == 3  # towns, registrations of people, orders by their new key


def test_tables_that_refer_to_each_other_are_cut_as_well() -> None:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    people, towns = builder.table("people"), builder.table("towns")
    people.join(towns, max, foreign_key=str).to_stream().to("at-home")
    towns.join(people, max, foreign_key=str).to_stream().to("mayors")
    cut = stages(builder.build().plan, {"people": 1, "towns": 1})
    assert {run.group for stage in cut for run in stage.runs} == {0, 1}


def test_sub_topologies_that_need_nothing_of_each_other_run_side_by_side() -> None:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    builder.stream("a").group_by_key().count()
    builder.stream("b").group_by_key().count()
    (stage,) = stages(builder.build().plan, {"a": 2, "b": 3})
    assert [(run.first_shard, run.shards) for run in stage.runs] == [(0, 2), (2, 3)]
    assert [stage.run_of(shard)[1] for shard in range(5)] == [0, 1, 0, 1, 2]
