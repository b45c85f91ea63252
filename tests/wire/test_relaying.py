"""Batches from topic to topic, written and read by a real client (librdkafka)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka import TopicPartition as Position

from penstock.protocol.topic_partition import TopicPartition
from penstock.records.codecs import Codec
from penstock.wire import offsets
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.fetch import fetch
from penstock.wire.pack import Stored
from penstock.wire.produce import ProducerOptions
from penstock.wire.relaying import (
    Piece,
    Range,
    Relayed,
    RelayOptions,
    _Journey,
    _Unit,
    from_bytes,
    joined,
    relay,
    to_bytes,
)
from penstock.wire.transactions import TransactionOwner

NewTopic = Callable[..., str]
NOW = 1_700_000_000_000


def produce(servers: str, topic: str, count: int, **settings: Any) -> None:
    """Records with keys, headers and tombstones among them, spread over the partitions."""
    transactional = settings.pop("transactional_id", None)
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "linger.ms": 20,
            **settings,
            **({"transactional.id": transactional} if transactional else {}),
        }
    )
    if transactional:
        producer.init_transactions(20)
        producer.begin_transaction()
    for n in range(count):
        producer.produce(
            topic,
            key=b"k%d" % n if n % 7 else None,
            value=None if n % 5 == 0 else b"v%d " % n + b"x" * (n % 50),
            headers=[("h", b"%d" % n), ("none", None)] if n % 3 == 0 else [],
            timestamp=NOW + n,
            partition=n % 2,
        )
    if transactional:
        producer.flush(20)
        if transactional.startswith("abort"):
            producer.abort_transaction(20)
        else:
            producer.commit_transaction(20)
    assert producer.flush(20) == 0


def contents(servers: str, topic: str, partition: int, end: int) -> list[tuple[Any, ...]]:
    """Everything before offset `end` but the offsets."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "look",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([Position(topic, partition, 0)])
    found: list[tuple[Any, ...]] = []
    while True:
        message = consumer.poll(10)
        assert message is not None, f"nothing after {len(found)} records"
        error = message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            continue  # the topic is so new that its leader is not known everywhere
        if error is not None and message.offset() == 0 < end:
            continue  # nor are its records
        if error is not None or message.offset() >= end:
            consumer.close()
            return found
        found.append((message.key(), message.value(), message.headers(), message.timestamp()[1]))


@pytest.fixture
def target(request: pytest.FixtureRequest, servers: str) -> Iterator[Cluster]:
    """The other broker: Apache Kafka for copies from Penstock, and Penstock for copies from it."""
    ours = str(request.getfixturevalue("penstock_servers"))
    apache = str(request.getfixturevalue("apache_kafka").bootstrap_servers)
    cluster = Cluster(apache if servers == ours else ours)
    yield cluster
    cluster.close()


def copy(
    cluster: Cluster, target: Cluster, source: str, copied: str, parts: int = 1, **options: Any
) -> list[Relayed]:
    """Both partitions, each in so many ranges one after the other."""
    places = [TopicPartition(source, n) for n in range(2)]
    ends = offsets.latest(cluster, places, Deadline(10), read_committed=True)
    starts = offsets.earliest(cluster, places, Deadline(10))
    found = []
    for part in range(parts):
        ranges = []
        for place in places:
            size = ends[place] - starts[place]
            edges = [starts[place] + size * n // parts for n in (part, part + 1)]
            ranges.append(Range(place, TopicPartition(copied, place.partition), *edges))
        found += relay(cluster, target, ranges, ProducerOptions(in_flight=5), RelayOptions(**options))
    return found


def create(servers: str, **settings: str) -> str:
    from confluent_kafka.admin import AdminClient, NewTopic

    name = f"copied-{time.monotonic_ns()}"
    config = {key.replace("_", "."): value for key, value in settings.items()}
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(name, 2, 1, config=config)])[name].result(20)
    return name


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_a_copy_is_the_same_in_every_field_and_keeps_its_codec(
    cluster: Cluster, servers: str, new_topic: NewTopic, target: Cluster, codec: str
) -> None:
    topic, copied = new_topic(2), create(target.bootstrap_servers)
    produce(servers, topic, 3000, **{"compression.type": codec})

    done = copy(cluster, target, topic, copied)

    assert sum(each.records for each in done) == 3000
    for n in range(2):
        end = done[n].next_offset
        assert contents(target.bootstrap_servers, copied, n, end) == contents(servers, topic, n, end)
    stored = next(fetch(target, TopicPartition(copied, 0), 0, 1))
    assert stored.header.codec.name.lower() == codec
    assert [each.pieces for each in done] == [(Piece(0, 1499, 0, 1500),)] * 2


def test_ranges_that_cut_batches_join_without_gap_or_repetition(
    cluster: Cluster, servers: str, new_topic: NewTopic, target: Cluster
) -> None:
    topic, copied = new_topic(2), create(target.bootstrap_servers)
    produce(servers, topic, 1000, **{"compression.type": "lz4"})

    done = copy(cluster, target, topic, copied, parts=7)

    assert sum(each.records for each in done) == 1000
    for n in range(2):
        assert contents(target.bootstrap_servers, copied, n, 500) == contents(servers, topic, n, 500)


def test_many_tiny_batches_are_packed_together(
    cluster: Cluster, servers: str, new_topic: NewTopic, target: Cluster
) -> None:
    topic, copied = new_topic(2), create(target.bootstrap_servers)
    produce(servers, topic, 400, **{"batch.num.messages": 1})

    copy(cluster, target, topic, copied)

    assert contents(target.bootstrap_servers, copied, 0, 200) == contents(servers, topic, 0, 200)
    assert next(fetch(target, TopicPartition(copied, 0), 0, 200)).header.records_count == 200


def test_aborted_records_and_markers_stay_behind(
    cluster: Cluster, servers: str, new_topic: NewTopic, target: Cluster
) -> None:
    topic, copied = new_topic(2), create(target.bootstrap_servers)
    stamp = time.monotonic_ns()
    for number, kind in enumerate(("commit", "abort", "commit")):
        produce(servers, topic, 100, transactional_id=f"{kind}-{stamp}-{number}")

    done = copy(cluster, target, topic, copied)

    assert [each.records for each in done] == [100, 100]
    assert contents(target.bootstrap_servers, copied, 0, 100) == contents(servers, topic, 0, 500)
    # A marker stands between the two parts, and the aborted records with theirs.
    assert done[0].pieces == (Piece(0, 49, 0, 50), Piece(102, 151, 50, 50))


def test_times_of_appending_become_the_times_of_the_records(
    cluster: Cluster, servers: str, new_topic: NewTopic, target: Cluster
) -> None:
    topic, copied = new_topic(2, message_timestamp_type="LogAppendTime"), create(target.bootstrap_servers)
    produce(servers, topic, 100)

    copy(cluster, target, topic, copied)

    assert contents(target.bootstrap_servers, copied, 0, 50) == contents(servers, topic, 0, 50)


def test_another_codec_can_be_wanted_and_large_batches_are_cut_for_a_small_limit(
    cluster: Cluster, servers: str, new_topic: NewTopic, target: Cluster
) -> None:
    topic, copied = new_topic(2), create(target.bootstrap_servers, max_message_bytes="3000")
    produce(servers, topic, 1000)

    done = copy(cluster, target, topic, copied, codec=Codec.GZIP)

    assert contents(target.bootstrap_servers, copied, 1, 500) == contents(servers, topic, 1, 500)
    assert done[1].pieces == (Piece(0, 499, 0, 500),)


def test_a_copy_inside_a_transaction_counts_when_it_is_committed(
    cluster: Cluster, servers: str, new_topic: NewTopic, target: Cluster
) -> None:
    topic, copied = new_topic(2), create(target.bootstrap_servers)
    produce(servers, topic, 2000, **{"batch.num.messages": 20, "compression.type": "zstd"})
    owner = TransactionOwner(target, f"relay-{copied}", timeout_ms=60_000)
    owner.fence(Deadline(20))
    ranges = [Range(TopicPartition(topic, n), TopicPartition(copied, n), 0, 1000) for n in range(2)]

    relay(cluster, target, ranges, ProducerOptions(transaction=owner.begin(Deadline(20)), in_flight=5))
    owner.abort(Deadline(20))
    transaction = owner.begin(Deadline(20))
    done = relay(cluster, target, ranges, ProducerOptions(transaction=transaction, in_flight=5))
    owner.commit(Deadline(20))

    # The aborted attempt and its marker stand before it.
    assert done[0].pieces == (Piece(0, 999, 1001, 1000),)
    assert contents(target.bootstrap_servers, copied, 0, 9999) == contents(servers, topic, 0, 1000)


def test_what_retention_deleted_is_missed_and_counted(
    cluster: Cluster, servers: str, new_topic: NewTopic, target: Cluster
) -> None:
    from confluent_kafka.admin import AdminClient

    topic, copied = new_topic(2), create(target.bootstrap_servers)
    produce(servers, topic, 200, **{"batch.num.messages": 10})
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_records([Position(topic, 0, 33)])[Position(topic, 0)].result(20)

    place = Range(TopicPartition(topic, 0), TopicPartition(copied, 0), 0, 100)
    done = relay(cluster, target, [place], ProducerOptions())[0]

    assert done.missed == 33
    assert contents(target.bootstrap_servers, copied, 0, 999)[0] == (b"k66", b"v66 " + b"x" * 16, [("h", b"66"), ("none", None)], NOW + 66)  # fmt: skip # noqa: E501


def test_pieces_are_joined_only_where_both_sides_go_on() -> None:
    pieces = [Piece(0, 9, 0, 10), Piece(10, 19, 10, 10), Piece(20, 29, 21, 10), Piece(31, 40, 31, 10)]

    made = tuple(joined(pieces))

    assert made == (Piece(0, 19, 0, 20), Piece(20, 29, 21, 10), Piece(31, 40, 31, 10))
    assert from_bytes(to_bytes(made)) == made


def test_a_unit_with_gaps_that_was_cut_in_parts_is_placed_record_by_record() -> None:
    place = TopicPartition("t", 0)
    journey = _Journey(Cluster("unused:1"), Range(place, place, 0, 100), RelayOptions())
    journey.sent.append(_Unit(Stored(b"", 4, 0, 0, Codec.NONE), 10, 40, (10, 20, 30, 40)))
    journey.sent.append(_Unit(Stored(b"", 2, 0, 0, Codec.NONE), 41, 42, None))

    journey.acknowledged(5, 1)
    journey.acknowledged(6, 3)
    journey.acknowledged(9, 2)

    assert journey.result().pieces == (
        Piece(10, 10, 5, 1),
        Piece(20, 20, 6, 1),
        Piece(30, 30, 7, 1),
        Piece(40, 42, 8, 3),
    )
