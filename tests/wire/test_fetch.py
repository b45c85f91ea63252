"""Reading ranges of partitions, against both brokers, with what a real client (librdkafka) produced."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from confluent_kafka import Producer as Librdkafka
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient

from penstock.protocol.topic_partition import TopicPartition
from penstock.records.record import Record, decode_batch
from penstock.testing import Broker
from penstock.wire import offsets
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.errors import DeadlineExceeded, OffsetOutOfRange, UnknownTopic
from penstock.wire.fetch import Batch, FetchOptions, fetch
from tests.peers.apache_kafka import free_port


def soon() -> Deadline:
    return Deadline(20)


def produce(servers: str, topic: str, values: Iterable[bytes], **settings: str | int) -> None:
    config = {
        "bootstrap.servers": servers,
        **{name.replace("_", "."): value for name, value in settings.items()},
    }
    producer = Librdkafka(config)
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(20) == 0


def records(batches: Iterable[Batch]) -> list[Record]:
    return [record for batch in batches for record in decode_batch(batch.data)]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_all_records_come_in_order_whatever_the_codec(
    cluster: Cluster, servers: str, new_topic: Callable[..., str], codec: str
) -> None:
    topic = new_topic()
    sent = [b"value-%d" % number * 5 for number in range(500)]
    produce(servers, topic, sent, compression_type=codec, batch_num_messages=50)
    partition = TopicPartition(topic, 0)
    found = records(fetch(cluster, partition, 0, 500, FetchOptions(max_bytes=2000)))
    assert [record.value for record in found] == sent
    assert [record.offset for record in found] == list(range(500))


def test_a_range_inside_batches_gives_these_batches_and_no_others(
    cluster: Cluster, servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    for start in range(0, 40, 10):
        produce(servers, topic, [b"%d" % number for number in range(start, start + 10)], linger_ms=200)
    batches = list(fetch(cluster, TopicPartition(topic, 0), 15, 25))
    assert batches[0].header.base_offset <= 15
    assert batches[-1].header.last_offset >= 24
    assert all(batch.header.last_offset >= 15 and batch.header.base_offset < 25 for batch in batches)
    assert [int(record.value or b"") for record in records(batches) if 15 <= record.offset < 25] == [
        *range(15, 25)
    ]


def test_a_batch_larger_than_the_limit_comes_whole(
    cluster: Cluster, servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    produce(servers, topic, [b"x" * 500_000])
    (record,) = records(fetch(cluster, TopicPartition(topic, 0), 0, 1, FetchOptions(max_bytes=1000)))
    assert record.value == b"x" * 500_000


def test_records_that_are_still_to_come_are_waited_for(
    cluster: Cluster, servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    produce(servers, topic, [b"first"])
    reading = fetch(cluster, TopicPartition(topic, 0), 0, 2)
    first = next(reading)
    produce(servers, topic, [b"second"])
    assert [record.value for record in records([first, *reading])] == [b"first", b"second"]


def test_waiting_for_what_never_comes_ends_with_the_reason(
    cluster: Cluster, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    options = FetchOptions(max_wait_ms=50, idle_seconds=0.3)
    with pytest.raises(DeadlineExceeded, match=f"{topic}-0: offsets 0 to 5 were expected"):
        list(fetch(cluster, TopicPartition(topic, 0), 0, 5, options))


def test_beyond_the_end_is_out_of_range(cluster: Cluster, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    with pytest.raises(OffsetOutOfRange, match=f"{topic}-0 has nothing at offset 7"):
        list(fetch(cluster, TopicPartition(topic, 0), 7, 9))


def test_a_missing_topic_is_said(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.wire.fetch.VANISHED_SECONDS", 0.1)
    with pytest.raises(UnknownTopic, match="'absent'"):
        list(fetch(cluster, TopicPartition("absent", 0), 0, 1))


def test_a_broker_that_restarts_in_the_middle_is_waited_for(tmp_path: Path) -> None:
    port = free_port()
    settings = {"listeners": f"PLAINTEXT://127.0.0.1:{port}"}
    servers = f"127.0.0.1:{port}"
    cluster = Cluster(servers)
    with Broker(str(tmp_path), settings):
        produce(servers, "t", [b"%d" % number for number in range(100)], batch_num_messages=5)
        reading = fetch(cluster, TopicPartition("t", 0), 0, 120, FetchOptions(max_bytes=300, max_wait_ms=50))
        found = records([next(reading)])
    with Broker(str(tmp_path), settings):
        produce(servers, "t", [b"%d" % number for number in range(100, 120)])
        found += records(reading)
    assert [int(record.value or b"") for record in found] == list(range(120))


def test_an_empty_range_asks_nobody() -> None:
    assert list(fetch(Cluster("127.0.0.1:1"), TopicPartition("t", 0), 3, 3)) == []


def test_a_reader_that_stops_early_leaves_the_cluster_usable(
    cluster: Cluster, servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    produce(servers, topic, [b"x"] * 100, batch_num_messages=10)
    partition = TopicPartition(topic, 0)
    reading = fetch(cluster, partition, 0, 100, FetchOptions(max_bytes=200))
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    assert len(records(fetch(cluster, partition, 0, 100))) == 100


def test_beginning_and_end_are_found_and_times_in_between(
    cluster: Cluster, servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    producer = Librdkafka({"bootstrap.servers": servers})
    for timestamp in (1000, 2000, 3000):
        producer.produce(topic, b"v", partition=0, timestamp=1_700_000_000_000 + timestamp)
        assert producer.flush(20) == 0
    partition = TopicPartition(topic, 0)
    assert offsets.earliest(cluster, [partition], soon()) == {partition: 0}
    assert offsets.latest(cluster, [partition], soon()) == {partition: 3}
    assert offsets.at(cluster, {partition: 1_700_000_000_000 + 1500}, soon()) == {partition: 1}
    assert offsets.at(cluster, {partition: 1_900_000_000_000}, soon()) == {partition: None}


def test_deleted_records_are_out_of_range(
    cluster: Cluster, servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    produce(servers, topic, [b"x"] * 10)
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.delete_records([Position(topic, 0, 6)]).values():
        future.result(20)
    partition = TopicPartition(topic, 0)
    assert offsets.earliest(cluster, [partition], soon()) == {partition: 6}
    with pytest.raises(OffsetOutOfRange, match="deleted by retention"):
        list(fetch(cluster, partition, 2, 8))


@pytest.mark.parametrize("servers", ["apache"], indirect=True)
def test_aborted_transactions_are_left_out_under_read_committed(
    cluster: Cluster, servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    producer = Librdkafka({"bootstrap.servers": servers, "transactional.id": topic, "linger.ms": 0})
    producer.init_transactions(20)
    for number in range(6):
        producer.begin_transaction()
        producer.produce(topic, b"%d" % number, partition=0)
        producer.flush(20)
        if number % 2:
            producer.abort_transaction(20)
        else:
            producer.commit_transaction(20)
    partition = TopicPartition(topic, 0)
    end = offsets.latest(cluster, [partition], soon(), read_committed=True)[partition]
    assert end == 12  # a marker follows each record
    options = FetchOptions(read_committed=True)
    assert [record.value for record in records(fetch(cluster, partition, 0, end, options))] == [
        b"0",
        b"2",
        b"4",
    ]
    everything = [record.value for record in records(fetch(cluster, partition, 0, end))]
    assert everything == [b"%d" % number for number in range(6)]
