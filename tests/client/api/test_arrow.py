"""Batches as Arrow: sent and read without an object for each record."""

from __future__ import annotations

import time
from collections.abc import Callable

import pyarrow as pa
import pytest

from penstock.client import Consumer, Producer, RebalanceListener, TopicPartition
from penstock.client.api.exceptions import (
    IllegalStateException,
    KafkaException,
    SerializationException,
    UnknownTopicOrPartitionException,
    WakeupException,
)
from penstock.wire.partitioner import partition_for_key
from tests.client.api.conftest import poll_until


def rows_of(consumer: Consumer, count: int, seconds: float = 20.0) -> pa.Table:
    """All rows of polls until there are so many."""
    deadline = time.monotonic() + seconds
    batches = [consumer.poll_arrow(0.2)]
    while sum(each.num_rows for each in batches) < count and time.monotonic() < deadline:
        batches.append(consumer.poll_arrow(0.5))
    return pa.Table.from_batches(batches)


def reader(bootstrap: str, topic: str, **settings: object) -> Consumer:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    consumer = Consumer({"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest", **named})
    consumer.assign(TopicPartition(topic, each.partition) for each in consumer.partitions_for(topic))
    return consumer


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_columns_arrive_as_they_were_sent(bootstrap: str, topic: str, codec: str) -> None:
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    sent = pa.record_batch(
        {
            "key": pa.array([b"a", None, b"c"], pa.binary()),
            "value": pa.array(["eins", "zwei", None], pa.string()),
            "timestamp": pa.array([1000, 2000, 3000], pa.timestamp("ms", tz="UTC")),
            "headers": pa.array([[{"key": "h", "value": b"1"}], [], None], header),
        }
    )
    with Producer({"bootstrap.servers": bootstrap, "compression.type": codec}) as producer:
        producer.send_arrow(topic, sent)
        producer.flush()
        assert producer.metrics()["record-send-total"] == 3
    with reader(bootstrap, topic) as consumer:
        found = rows_of(consumer, 3)
    assert found.column("key").to_pylist() == [b"a", None, b"c"]
    assert found.column("value").to_pylist() == [b"eins", b"zwei", None]
    assert found.column("offset").to_pylist() == [0, 1, 2]
    assert [each.timestamp() for each in found.column("timestamp").to_pylist()] == [1, 2, 3]
    assert found.column("headers").to_pylist() == [[{"key": "h", "value": b"1"}], [], []]


def test_keys_go_where_java_sends_them_and_records_of_both_ways_are_the_same(
    bootstrap: str, topic_of: Callable[..., str]
) -> None:
    topic = topic_of(4)
    keys = [b"%d" % number for number in range(1000)]
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        producer.send_arrow(topic, pa.record_batch({"key": keys, "value": keys}))
        producer.flush()
    with Consumer({"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest"}) as consumer:
        consumer.assign(TopicPartition(topic, index) for index in range(4))
        records = poll_until(consumer, 1000)
    assert {each.key: each.partition for each in records} == {key: partition_for_key(key, 4) for key in keys}


def test_a_group_shares_partitions_and_commits_what_was_returned(
    bootstrap: str, topic_of: Callable[..., str]
) -> None:
    topic = topic_of(2)
    values = [b"%d" % number for number in range(200)]
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        producer.send_arrow(topic, pa.record_batch({"key": values, "value": values}))
    settings = {"bootstrap.servers": bootstrap, "group.id": f"g-{topic}", "auto.offset.reset": "earliest"}
    heard: list[TopicPartition] = []

    class Listener(RebalanceListener):
        def on_partitions_assigned(self, partitions: object) -> None:
            heard.extend(partitions)  # type: ignore[arg-type]

    with Consumer(settings) as consumer:
        consumer.subscribe([topic], Listener())
        assert sorted(rows_of(consumer, 200).column("value").to_pylist()) == sorted(values)
        assert len(heard) == 2
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        producer.send_arrow(topic, pa.record_batch({"value": [b"new"]}))
    with Consumer(settings) as consumer:
        consumer.subscribe([topic])
        assert rows_of(consumer, 1).column("value").to_pylist() == [b"new"]


def test_only_committed_records_are_read_where_that_is_asked_for(bootstrap: str, topic: str) -> None:
    with Producer({"bootstrap.servers": bootstrap, "transactional.id": f"t-{topic}"}) as producer:
        producer.init_transactions(10)
        producer.begin_transaction()
        producer.send(topic, b"gone").result(10)
        producer.abort_transaction(10)
        with producer.transaction():
            producer.send(topic, b"kept")
        with pytest.raises(IllegalStateException, match="in a transaction"):
            producer.send_arrow(topic, pa.record_batch({"value": [b"x"]}))
    with reader(bootstrap, topic, isolation_level="read_committed") as consumer:
        assert rows_of(consumer, 1).column("value").to_pylist() == [b"kept"]


def test_seek_pause_and_wakeup_work_as_with_poll(bootstrap: str, topic: str) -> None:
    at = TopicPartition(topic, 0)
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        producer.send_arrow(topic, pa.record_batch({"value": [b"%d" % number for number in range(10)]}))
    with reader(bootstrap, topic) as consumer:
        assert rows_of(consumer, 10).num_rows == 10
        consumer.seek(at, 7)
        assert rows_of(consumer, 3).column("offset").to_pylist() == [7, 8, 9]
        assert consumer.position(at) == 10
        consumer.pause([at])
        consumer.seek_to_beginning([at])
        assert consumer.poll_arrow(0.2).num_rows == 0
        consumer.resume([at])
        assert rows_of(consumer, 10).num_rows == 10
        consumer.wakeup()
        with pytest.raises(WakeupException):
            consumer.poll_arrow(30)
        with pytest.raises(IllegalStateException, match="reads with poll_arrow"):
            consumer.poll(0)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"key": [b"k"]}, "has a column 'value'"),
        ({"value": [b"v"], "when": [1]}, "has no column 'when'"),
        ({"value": [b"v"], "partition": pa.array([9], pa.int32())}, "names partition 9"),
    ],
)
def test_a_batch_that_cannot_be_sent_says_why(
    bootstrap: str, topic: str, columns: dict[str, object], words: str
) -> None:
    with (
        Producer({"bootstrap.servers": bootstrap}) as producer,
        pytest.raises(SerializationException, match=words),
    ):
        producer.send_arrow(topic, pa.record_batch(columns))


def test_an_unknown_topic_is_an_error(bootstrap: str) -> None:
    settings = {"bootstrap.servers": bootstrap, "delivery.timeout.ms": 5000}
    with Producer(settings) as producer, pytest.raises(UnknownTopicOrPartitionException):
        producer.send_arrow("nonesuch", pa.record_batch({"value": [b"v"]}))


def test_a_batch_that_the_broker_refuses_is_raised_by_flush_and_by_every_later_call(
    bootstrap: str, topic_of: Callable[..., str]
) -> None:
    """Rows are sent by a thread of the producer: what it meets must come to the caller."""
    topic = topic_of(message_timestamp_before_max_ms="1000")
    old = pa.record_batch({"value": [b"v"], "timestamp": pa.array([1], pa.timestamp("ms", tz="UTC"))})
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.send_arrow(topic, old)
    with pytest.raises(KafkaException, match="INVALID_TIMESTAMP"):
        producer.flush(20)
    with pytest.raises(KafkaException):
        producer.flush(20)
    producer.close()


def test_many_batches_of_several_partitions_arrive_once_and_in_order(
    bootstrap: str, topic_of: Callable[..., str]
) -> None:
    """More than fits into the buffer, so packing waits for sending."""
    topic, count = topic_of(3), 60_000
    with Producer({"bootstrap.servers": bootstrap, "buffer.memory": 4_000_000}) as producer:
        for first in range(0, count, 5_000):
            numbers = range(first, first + 5_000)
            producer.send_arrow(
                topic,
                pa.record_batch(
                    {
                        "key": [b"%d" % (number % 7) for number in numbers],
                        "value": [b"%0100d" % number for number in numbers],
                    }
                ),
            )
        producer.flush(60)
        assert producer.metrics()["record-send-total"] == count
    with reader(bootstrap, topic) as consumer:
        found = rows_of(consumer, count)
    by_partition: dict[int, list[int]] = {}
    for partition, value in zip(found["partition"].to_pylist(), found["value"].to_pylist(), strict=True):
        by_partition.setdefault(partition, []).append(int(value))
    assert all(values == sorted(values) for values in by_partition.values())
    assert sorted(number for values in by_partition.values() for number in values) == list(range(count))
