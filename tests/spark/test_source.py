"""The source without Spark around it: offsets, limits, new and lost partitions, and rows out of a range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient, NewPartitions
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from penstock.spark.datasource import PenstockDataSource
from penstock.spark.options import OptionError
from penstock.spark.positions import PositionError
from penstock.spark.reading import DataLoss, OffsetRange
from penstock.spark.source import PenstockStreamReader, from_json, limited, to_json
from penstock.wire.cluster import TopicPartition
from penstock.wire.errors import UnknownTopic

A, B, C = (TopicPartition("t", number) for number in range(3))
NOW = 1_700_000_000_000


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


def test_a_limit_is_shared_by_size_and_starves_nobody() -> None:
    start, end = {A: 0, B: 100, C: 5}, {A: 1000, B: 101, C: 5}
    shared = limited(start, end, 100)
    assert shared == {A: 99, B: 101, C: 5}
    assert limited(start, end, 5000) == end


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
    with pytest.raises(PositionError, match=f"leave out {topic}-1"):
        stream(servers, subscribe=topic, startingOffsets=f'{{"{topic}":{{"0":3}}}}').initialOffset()
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
