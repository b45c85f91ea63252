"""The source without Spark around it: offsets, limits, new and lost partitions, and rows out of a range."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from penstock.protocol.topic_partition import TopicPartition
from penstock.spark.datasource import PenstockDataSource
from penstock.spark.limits import OffsetRange
from penstock.spark.options import OptionError
from penstock.spark.positions import PositionError
from penstock.spark.reading import DataLoss
from penstock.spark.source import PenstockStreamReader, from_json, to_json
from penstock.wire.errors import Refused, UnknownTopic

A, B, C = (TopicPartition("t", number) for number in range(3))
NOW = 1_700_000_000_000
on_our_broker = pytest.mark.parametrize("servers", ["penstock"], indirect=True)


def produce(servers: str, topic: str, count: int, partition: int = 0, **changes: Any) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for number in range(count):
        producer.produce(
            topic,
            **{"value": b"%d" % number, "partition": partition, "timestamp": NOW + number, **changes},
        )
    assert producer.flush(20) == 0


def stream(servers: str, **options: str) -> PenstockStreamReader:
    source = PenstockDataSource({"kafka.bootstrap.servers": servers, **options})
    return source.streamReader(source.schema())


def rows(reader: Any, ranges: Any) -> list[dict[str, Any]]:
    return [row for part in ranges for batch in reader.read(part) for row in batch.to_pylist()]


def test_offsets_are_written_in_one_order_only() -> None:
    written = to_json({TopicPartition("b", 10): 3, TopicPartition("b", 9): 1, TopicPartition("a", 0): 2})
    assert list(written) == ["a", "b"]
    assert list(written["b"]) == ["9", "10"]
    assert to_json(from_json(written)) == written


def test_a_stream_goes_from_the_start_by_limited_steps_to_the_end(
    servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=2)
    produce(servers, topic, 30, 0)
    produce(servers, topic, 10, 1)
    reader = stream(servers, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="20")
    start = reader.initialOffset()
    assert start == {topic: {"0": 0, "1": 0}}
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(20)
    middle = reader.latestOffset(start, limit)
    assert middle == {topic: {"0": 15, "1": 5}}
    end = reader.latestOffset(middle, ReadAllAvailable())
    assert end == reader.reportLatestOffset() == {topic: {"0": 30, "1": 10}}
    first, second = (rows(reader, reader.partitions(*pair)) for pair in ((start, middle), (middle, end)))
    assert [row["offset"] for row in first if row["partition"] == 0] == list(range(15))
    assert [row["offset"] for row in second if row["partition"] == 0] == list(range(15, 30))
    assert [int(row["value"]) for row in first + second if row["partition"] == 1] == list(range(10))
    assert reader.partitions(end, end) == []


def test_available_now_ends_where_the_log_ended_when_it_was_prepared(
    servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    produce(servers, topic, 5)
    reader = stream(servers, subscribe=topic, startingOffsets="earliest")
    reader.prepareForTriggerAvailableNow()
    produce(servers, topic, 5)
    assert reader.latestOffset({topic: {"0": 0}}, ReadAllAvailable()) == {topic: {"0": 5}}
    assert reader.latestOffset({topic: {"0": 5}}, ReadAllAvailable()) == {topic: {"0": 5}}


def test_partitions_and_topics_of_a_pattern_that_appear_are_read_from_their_beginning(
    servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    reader = stream(servers, subscribePattern=f"{topic}.*", startingOffsets="latest")
    start = reader.initialOffset()
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.create_partitions([NewPartitions(topic, 2)]).values():
        future.result(20)
    produce(servers, topic, 3, 1)
    end = reader.latestOffset(start, ReadMaxRows(100))
    assert end == {topic: {"0": 0, "1": 3}}
    assert [row["offset"] for row in rows(reader, reader.partitions(start, end))] == [0, 1, 2]


def test_every_column_is_there_as_sparks_own_source_has_it(
    servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    produce(servers, topic, 1, key=b"k", headers=[("h", b"v"), ("n", None)])
    reader = stream(servers, subscribe=topic, includeHeaders="true")
    (row,) = rows(reader, [OffsetRange(topic, 0, 0, 1)])
    assert row.pop("timestamp").timestamp() * 1000 == NOW
    assert row == {
        "key": b"k",
        "value": b"0",
        "topic": topic,
        "partition": 0,
        "offset": 0,
        "timestampType": 0,
        "headers": [{"key": "h", "value": b"v"}, {"key": "n", "value": None}],
    }


def test_only_the_wanted_columns_are_made(servers: str, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    produce(servers, topic, 2)
    reader = stream(servers, subscribe=topic, columns="offset, value")
    assert rows(reader, [OffsetRange(topic, 0, 1, 2)]) == [{"offset": 1, "value": b"1"}]
    with pytest.raises(OptionError, match="there is no column 'val'"):
        stream(servers, subscribe=topic, columns="val")


def test_many_small_records_come_in_batches_of_about_ten_thousand(
    servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    produce(servers, topic, 25_000)
    reader = stream(servers, subscribe=topic)
    sizes = [batch.num_rows for batch in reader.read(OffsetRange(topic, 0, 0, 25_000))]
    assert sum(sizes) == 25_000
    assert max(sizes) <= 15_000
    assert len(sizes) <= 4


def test_a_batch_is_planned_from_offsets_and_times(servers: str, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=2)
    produce(servers, topic, 10)
    wanted = {
        "kafka.bootstrap.servers": servers,
        "subscribe": topic,
        "startingOffsetsByTimestamp": f'{{"{topic}":{{"0":{NOW + 4},"1":0}}}}',
        "startingOffsetsByTimestampStrategy": "latest",
        "endingOffsets": f'{{"{topic}":{{"0":8,"1":-1}}}}',
    }
    source = PenstockDataSource(wanted)
    reader = source.reader(source.schema())
    ranges = reader.partitions()
    assert ranges == [OffsetRange(topic, 0, 4, 8)]
    assert [int(row["value"]) for row in rows(reader, ranges)] == [4, 5, 6, 7]


def test_offsets_that_leave_out_a_partition_or_name_a_strange_one_are_refused(
    servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=2)
    with pytest.raises(PositionError, match=f"leaves out {topic}-1: .* with -2 for its beginning"):
        stream(servers, subscribe=topic, startingOffsets=f'{{"{topic}":{{"0":3}}}}').initialOffset()
    with pytest.raises(PositionError, match=f"leaves out {topic}-1: name every partition$"):
        stream(
            servers, subscribe=topic, startingOffsetsByTimestamp=f'{{"{topic}":{{"0":3}}}}'
        ).initialOffset()
    strange = f'{{"{topic}":{{"0":0,"1":0,"2":0}}}}'
    with pytest.raises(PositionError, match=f"{topic}-2, which is not among"):
        stream(servers, subscribe=topic, startingOffsets=strange).initialOffset()


def test_a_missing_topic_is_said_with_what_to_do(servers: str) -> None:
    with pytest.raises(UnknownTopic, match=r"'missing' does not exist at .*create it first"):
        stream(servers, subscribe="missing").initialOffset()
    with pytest.raises(UnknownTopic, match="missing-3 does not exist"):
        stream(servers, assign='{"missing":[3]}').initialOffset()


def test_offsets_beyond_the_end_are_a_loss_unless_losses_do_not_matter(
    servers: str, new_topic: Callable[..., str]
) -> None:
    """As when a topic was deleted and created anew, and a checkpoint still knows the old one."""
    topic = new_topic()
    produce(servers, topic, 3)
    strict = stream(servers, subscribe=topic)
    with pytest.raises(DataLoss, match=f"{topic}-0 was read up to offset 50 and ends at 3 now"):
        strict.latestOffset({topic: {"0": 50}}, ReadAllAvailable())
    lenient = stream(servers, subscribe=topic, failOnDataLoss="false")
    start = {topic: {"0": 50}, "gone": {"0": 4}}
    end = lenient.latestOffset(start, ReadAllAvailable())
    assert end == {topic: {"0": 3}, "gone": {"0": 4}}
    assert [row["offset"] for row in rows(lenient, lenient.partitions(start, end))] == [0, 1, 2]


@on_our_broker
def test_a_topic_that_was_created_anew_is_a_loss_also_when_it_is_longer_than_the_old_one(
    servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    admin = AdminClient({"bootstrap.servers": servers})
    produce(servers, topic, 2)
    strict = stream(servers, subscribe=topic, startingOffsets="earliest")
    lenient = stream(servers, subscribe=topic, startingOffsets="earliest", failOnDataLoss="false")
    for reader in (strict, lenient):
        place = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    admin.delete_topics([topic])[topic].result(20)
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(20)
    produce(servers, topic, 5)
    with pytest.raises(DataLoss, match=f"topic '{topic}' was deleted and created anew"):
        strict.latestOffset(place, ReadAllAvailable())
    end = lenient.latestOffset(place, ReadMaxRows(3))
    for _ in range(2):  # Spark plans a batch as often as it likes
        assert [row["offset"] for row in rows(lenient, lenient.partitions(place, end))] == [0, 1, 2]
    after = lenient.latestOffset(end, ReadAllAvailable())
    assert [row["offset"] for row in rows(lenient, lenient.partitions(end, after))] == [3, 4]


def test_records_that_aged_out_are_a_loss_unless_losses_do_not_matter(
    servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    produce(servers, topic, 10)
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.delete_records([Position(topic, 0, 6)]).values():
        future.result(20)
    wanted = [OffsetRange(topic, 0, 2, 9)]
    with pytest.raises(DataLoss, match=f"offsets 2 to 9 of {topic}-0 .*Set failOnDataLoss"):
        rows(stream(servers, subscribe=topic), wanted)
    lenient = stream(servers, subscribe=topic, failOnDataLoss="false")
    assert [row["offset"] for row in rows(lenient, wanted)] == [6, 7, 8]


def test_a_batch_waits_for_the_least_number_of_offsets_but_not_when_everything_is_to_be_read_now(
    servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    produce(servers, topic, 5)
    wanted = {"subscribe": topic, "startingOffsets": "earliest", "minOffsetsPerTrigger": "8"}
    reader = stream(servers, **wanted)
    start = reader.initialOffset()
    assert reader.latestOffset(start, ReadAllAvailable()) == start
    produce(servers, topic, 5)
    assert reader.latestOffset(start, ReadAllAvailable()) == {topic: {"0": 10}}
    now = stream(servers, **wanted)
    now.prepareForTriggerAvailableNow()
    assert now.latestOffset({topic: {"0": 7}}, ReadAllAvailable()) == {topic: {"0": 10}}


def test_min_partitions_cuts_ranges_and_their_parts_are_the_whole_in_order(
    servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=2)
    produce(servers, topic, 100, 0)
    produce(servers, topic, 10, 1)
    reader = stream(servers, subscribe=topic, startingOffsets="earliest", minPartitions="5")
    parts = reader.partitions(reader.initialOffset(), reader.latestOffset({}, ReadAllAvailable()))
    assert [(part.partition, part.start, part.end) for part in parts] == [
        *((0, 0, 25), (0, 25, 50), (0, 50, 75), (0, 75, 100)),
        (1, 0, 10),
    ]
    assert [int(row["value"]) for row in rows(reader, parts[:4])] == list(range(100))


def test_progress_is_committed_as_a_group_that_lag_tools_can_see(
    servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=2)
    reader = stream(servers, subscribe=topic, groupIdForOffsets=f"{topic}-lag")
    reader.commit({topic: {"0": 3, "1": 0}})
    reader.commit({topic: {"0": 7, "1": 2}})
    admin = AdminClient({"bootstrap.servers": servers})
    wanted = ConsumerGroupTopicPartitions(f"{topic}-lag")
    (future,) = admin.list_consumer_group_offsets([wanted]).values()
    found = {p.partition: p.offset for p in future.result(20).topic_partitions}
    assert found == {0: 7, 1: 2}


def test_a_group_with_members_is_not_used_to_show_progress(
    servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    group = f"{topic}-busy"
    member = Consumer({"bootstrap.servers": servers, "group.id": group})
    member.subscribe([topic])
    try:
        end = time.monotonic() + 20
        while not member.assignment() and time.monotonic() < end:
            member.poll(0.1)
        reader = stream(servers, subscribe=topic, groupIdForOffsets=group)
        with pytest.raises(Refused, match=f"'{group}' has members .*choose a group id that no consumer uses"):
            reader.commit({topic: {"0": 0}})
    finally:
        member.close()


def test_a_broker_that_is_away_fails_neither_lag_nor_group_offsets() -> None:
    options = {"subscribe": "t", "kafka.default.api.timeout.ms": "100", "groupIdForOffsets": "g"}
    reader = stream("127.0.0.1:1", **options)
    assert reader.reportLatestOffset() is None
    reader.commit({"t": {"0": 1}})
