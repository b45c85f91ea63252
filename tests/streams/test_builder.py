"""What cannot be built is refused with the line that asked for it; what is built keeps Kafka's names."""

from __future__ import annotations

from datetime import timedelta

import pytest

from penstock.plan.groups import partition_counts
from penstock.plan.plan import Plan
from penstock.plan.raw_records import RawRecord
from penstock.plan.serial import from_json
from penstock.plan.task import Task
from penstock.streams import (
    JoinWindows,
    JsonSerde,
    LongSerde,
    Materialized,
    StreamsBuilder,
    StringSerde,
    Suppressed,
    TimeWindows,
    TopologyError,
    TopologyTestDriver,
)
from penstock.wire.partitioner import partition_for_key

S = StringSerde()


def pair(left: str, right: str) -> str:
    return left + right


def by_value(key: str, value: str) -> str:
    return value


def builder() -> StreamsBuilder:
    return StreamsBuilder(key_serde=S, value_serde=S)


def refused(pattern: str) -> pytest.RaisesExc[TopologyError]:
    return pytest.raises(TopologyError, match=pattern)


def test_a_missing_serde_is_refused_with_the_line() -> None:
    with refused(r"key's serde is not known.*\(test_builder.py:\d+\)"):
        StreamsBuilder().stream("a", value_serde=S)


def test_a_serde_that_was_lost_on_the_way_is_refused() -> None:
    stream = StreamsBuilder().stream("a", key_serde=S, value_serde=S).map_values(len)
    with refused("value's serde is not known"):
        stream.to("out")


def test_two_nodes_of_one_name_are_refused() -> None:
    b = builder()
    b.stream("a").map_values(str.upper, name="twice").to("out")
    b.stream("b").map_values(str.upper, name="twice").to("out2")
    with refused(r"two nodes are named twice.*\(test_builder.py"):
        b.build()


def test_two_stores_of_one_name_are_refused() -> None:
    b = builder()
    group = b.stream("a").group_by_key()
    group.count(materialized="counts")
    with refused("a store named counts"):
        group.count(materialized="counts")


def test_a_table_read_twice_is_refused() -> None:
    b = builder()
    b.table("a")
    b.stream("a").to("out")
    b.table("a")
    with refused("read it once"):
        b.build()


def test_a_join_of_streams_without_windows_is_refused() -> None:
    b = builder()
    with refused("needs JoinWindows"):
        b.stream("a").join(b.stream("b"), pair, None)  # type: ignore[call-overload]


def test_only_windows_can_be_waited_for() -> None:
    with refused("only windows close"):
        builder().table("a").suppress(Suppressed.until_window_closes())


def test_a_store_that_forgets_too_early_is_refused() -> None:
    windowed = builder().stream("a").group_by_key().windowed_by(TimeWindows(timedelta(minutes=5)))
    with refused("retention is 1000 ms; windows and grace need 300000 ms"):
        windowed.count(materialized=Materialized("counts", retention=1000))


def test_a_processor_without_its_store_is_refused() -> None:
    b = builder()
    b.stream("a").process(lambda: None, stores=["missing"])  # type: ignore[arg-type,return-value]
    with refused("uses the store missing"):
        b.build()


def test_an_unknown_optimisation_is_refused() -> None:
    b = builder()
    b.stream("a").to("out")
    with refused("no optimisation 'all'"):
        b.build(optimize=["all"])


def test_a_source_topic_can_be_its_tables_changelog() -> None:
    b = builder()
    b.table("a", materialized="rows").to_stream().to("out")
    plan = b.build(optimize=["reuse.ktable.source.topics"]).plan
    assert plan.changelog_name("rows", "app") == "a"


def joined() -> Plan:
    b = builder()
    b.stream("a").join(b.stream("b").select_key(by_value), pair, JoinWindows(5)).to("out")
    return b.build().plan


def test_repartition_topics_get_as_many_partitions_as_the_topic_that_they_are_joined_with() -> None:
    counts = partition_counts(joined(), {"a": 6, "b": 2})
    assert counts == {"KSTREAM-KEY-SELECT-0000000002-repartition": 6}


def test_topics_with_different_numbers_of_partitions_are_not_joined() -> None:
    b = builder()
    b.stream("a").join(b.table("b"), pair).to("out")
    with refused("a has 4, b has 3: repartition"):
        partition_counts(b.build().plan, {"a": 4, "b": 3})


def test_a_plan_can_be_written_down_and_read_again() -> None:
    b = builder()
    b.stream("a").map_values(str.upper).join(b.table("b"), pair).to("out")
    topology = b.build()
    assert from_json(topology.to_json()) == topology.plan


def test_a_lambda_cannot_be_written_down() -> None:
    b = builder()
    b.stream("a").map_values(lambda value: value).to("out")
    with refused(r"no name to be found by.*\(test_builder.py"):
        b.build().to_json()


def test_a_picture_shows_every_node() -> None:
    b = builder()
    b.stream("a").group_by(by_value).count(materialized="counts").to_stream().to(
        "out", value_serde=LongSerde()
    )
    picture = b.build().picture()
    assert picture.startswith("<svg")
    assert picture.count("<rect") == 8
    assert "through" in picture


def test_an_aggregate_that_is_changed_in_place_has_its_old_value() -> None:
    def append(key: str, value: str, words: list[str]) -> list[str]:
        words.append(value)
        return words

    b = builder()
    words = (
        b.stream("a")
        .group_by_key()
        .aggregate(list, append, materialized=Materialized(value_serde=JsonSerde()))
    )
    sizes = words.group_by(lambda k, v: ("all", len(v)), value_serde=JsonSerde())
    sizes.reduce(lambda x, y: x + y, lambda x, y: x - y).to_stream().to("out", value_serde=JsonSerde())
    with TopologyTestDriver(b.build()) as driver:
        for value in "abc":
            driver.pipe("a", "k", value, 1)
        assert [record.value for record in driver.read("out")] == [1, 2, 3]


def test_a_windowed_key_goes_to_the_partition_of_its_key() -> None:
    b = builder()
    counts = b.stream("a").group_by_key().windowed_by(TimeWindows(10)).count()
    counts.to_stream().to("out", value_serde=LongSerde())
    task = Task(b.build().plan, application_id="app", partitions={"out": 5})
    (result,) = task.step([RawRecord("a", 0, 0, 7, b"some key", b"v")])
    assert result.key == b"some key" + bytes(8)
    assert result.partition == partition_for_key(b"some key", 5) != partition_for_key(result.key, 5)
