"""The producer against a real broker: what Java's does, and Java's errors."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from penstock.client import (
    Consumer,
    Producer,
    ProducerRecord,
    RecordMetadata,
    RoundRobinPartitioner,
    StringDeserializer,
    StringSerializer,
    TopicPartition,
)
from penstock.client.api.exceptions import (
    BufferExhaustedException,
    ConfigException,
    IllegalStateException,
    InvalidTimestampException,
    KafkaException,
    ProducerFencedException,
    RecordTooLargeException,
    SerializationException,
    TimeoutException,
)
from penstock.wire.partitioner import partition_for_key
from tests.client.api.conftest import poll_until


def producer(bootstrap: str, **settings: Any) -> Producer:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, **named})


def read(bootstrap: str, topic: str, count: int, **settings: Any) -> list[Any]:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    with Consumer({"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest", **named}) as consumer:
        consumer.assign(TopicPartition(topic, each.partition) for each in consumer.partitions_for(topic))
        return poll_until(consumer, count)


def test_a_future_has_where_the_record_is(bootstrap: str, topic: str) -> None:
    with producer(bootstrap) as sender:
        first = sender.send(topic, b"one", key=b"k", timestamp=1_700_000_000_000).result(10)
        second = sender.send(topic, b"two").result(10)
    assert first == RecordMetadata(topic, 0, 0, 1_700_000_000_000)
    assert second.offset == 1
    assert second.timestamp > first.timestamp


def test_a_record_arrives_with_key_value_headers_and_time(bootstrap: str, topic: str) -> None:
    with producer(bootstrap, key_serializer=StringSerializer, value_serializer=StringSerializer()) as sender:
        sender.send(topic, "wert", key="schlüssel", headers=[("h", b"1"), ("h", None)], timestamp=5)
        sender.send(topic, None, key="deleted", headers={"only": b"x"})
    records = read(
        bootstrap, topic, 2, key_deserializer=StringDeserializer, value_deserializer=StringDeserializer
    )
    assert [(each.key, each.value, list(each.headers)) for each in records] == [
        ("schlüssel", "wert", [("h", b"1"), ("h", None)]),
        ("deleted", None, [("only", b"x")]),
    ]
    assert records[0].timestamp == 5


def test_java_class_names_and_functions_serialize(bootstrap: str, topic: str) -> None:
    java = "org.apache.kafka.common.serialization.LongSerializer"
    with producer(bootstrap, key_serializer=java, value_serializer=lambda value: value.encode()) as sender:
        sender.send(topic, "text", key=258).result(10)
    (record,) = read(bootstrap, topic, 1)
    assert (record.key, record.value) == (b"\x00\x00\x00\x00\x00\x00\x01\x02", b"text")


def test_keys_go_where_java_sends_them(bootstrap: str, topic_of: Callable[..., str]) -> None:
    topic = topic_of(5)
    with producer(bootstrap) as sender:
        futures = {key: sender.send(topic, b"v", key=key) for key in (b"a", b"b", b"c", b"customer-17")}
        assert {key: future.result(10).partition for key, future in futures.items()} == {
            key: partition_for_key(key, 5) for key in futures
        }


def test_a_partitioner_of_the_users_own_chooses(bootstrap: str, topic_of: Callable[..., str]) -> None:
    topic = topic_of(3)
    seen = []

    class Biggest:
        def configure(self, settings: dict[str, Any]) -> None:
            self.name = settings.get("client.id") or "Banana"

        def partition(
            self, topic: str, key: Any, key_bytes: Any, value: Any, value_bytes: Any, cluster: Any
        ) -> int:
            seen.append((key, key_bytes, value, value_bytes))
            last = cluster.partition_count_for_topic(topic) - 1
            return last if key == self.name else partition_for_key(key_bytes, last)

    strings = {"key_serializer": StringSerializer, "value_serializer": StringSerializer}
    with producer(bootstrap, partitioner_class=Biggest, **strings) as sender:
        banana = sender.send(topic, "v", key="Banana").result(10)
        other = sender.send(topic, "v", key="Apple").result(10)
    assert banana.partition == 2
    assert other.partition in (0, 1)
    assert seen[0] == ("Banana", b"Banana", "v", b"v")


def test_round_robin_takes_one_partition_after_the_other(
    bootstrap: str, topic_of: Callable[..., str]
) -> None:
    topic = topic_of(3)
    with producer(bootstrap, partitioner_class=RoundRobinPartitioner) as sender:
        chosen = [sender.send(topic, b"v", key=b"same").result(10).partition for _ in range(6)]
    assert chosen == [0, 1, 2, 0, 1, 2]


def test_a_partitioner_that_chooses_none_that_exists_is_an_error(bootstrap: str, topic: str) -> None:
    class Wrong:
        def partition(self, *_: Any) -> int:
            return 7

    with producer(bootstrap, partitioner_class=Wrong()) as sender:
        with pytest.raises(KafkaException, match=r"Wrong chose partition 7 of topic '.*', which has 0 to 0"):
            sender.send(topic, b"v")
        sender.flush(5)


def test_interceptors_change_records_and_hear_of_answers(bootstrap: str, topic: str) -> None:
    heard: list[Any] = []

    class Stamp:
        def on_send(self, record: ProducerRecord) -> ProducerRecord:
            record.headers = [*record.headers, ("stamp", b"1")]
            return record

        def on_acknowledgement(self, metadata: Any, error: Any) -> None:
            heard.append((metadata and metadata.offset, error))

    class Broken:
        def on_send(self, record: ProducerRecord) -> ProducerRecord:
            raise ValueError("never mind")

    with producer(bootstrap, interceptor_classes=[Stamp, Broken()]) as sender:
        sender.send(topic, b"v").result(10)
        failure = sender.send(topic, b"x" * 2_000_000).exception(10)
    (record,) = read(bootstrap, topic, 1)
    assert list(record.headers) == [("stamp", b"1")]
    assert heard == [(0, None), (None, failure)]


def test_callbacks_come_in_the_order_of_a_partition(bootstrap: str, topic: str) -> None:
    offsets: list[int] = []

    def note(metadata: RecordMetadata | None, error: Exception | None) -> None:
        assert metadata is not None
        offsets.append(metadata.offset)

    with producer(bootstrap) as sender:
        for number in range(5000):
            sender.send(topic, b"%d" % number, callback=note)
            if number % 1000 == 500:
                sender.flush(10)
    assert offsets == list(range(5000))


def test_a_callback_that_fails_does_not_stop_the_producer(bootstrap: str, topic: str) -> None:
    def broken(metadata: RecordMetadata | None, error: Exception | None) -> None:
        raise ValueError("never mind")

    with producer(bootstrap) as sender:
        assert sender.send(topic, b"v", callback=broken).result(10).offset == 0
        assert sender.send(topic, b"v", callback=broken).result(10).offset == 1


def test_flush_waits_for_what_was_sent_before_and_not_for_linger(bootstrap: str, topic: str) -> None:
    with producer(bootstrap, linger_ms=60_000) as sender:
        futures = [sender.send(topic, b"v") for _ in range(10)]
        sender.flush(10)
        assert all(future.done() for future in futures)


def test_many_threads_may_send_at_once(bootstrap: str, topic_of: Callable[..., str]) -> None:
    topic = topic_of(4)
    with producer(bootstrap) as sender:
        done: list[int] = []

        def work() -> None:
            futures = [sender.send(topic, b"v") for _ in range(500)]
            sender.flush(20)
            done.append(sum(future.result(0).offset >= 0 for future in futures))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert done == [500] * 4


def test_a_future_can_be_awaited(bootstrap: str, topic: str) -> None:
    async def send() -> RecordMetadata:
        with producer(bootstrap) as sender:
            return await sender.send(topic, b"v")

    assert asyncio.run(send()).offset == 0


def test_a_record_that_is_too_large_fails_in_its_future_with_javas_words(bootstrap: str, topic: str) -> None:
    with producer(bootstrap, max_request_size=5000) as sender:
        failure = sender.send(topic, b"x" * 6000).exception(5)
    assert isinstance(failure, RecordTooLargeException)
    assert "larger than 5000, which is the value of the max.request.size configuration" in str(failure)


def test_a_broker_that_refuses_a_large_record_fails_its_future(
    bootstrap: str, topic_of: Callable[..., str]
) -> None:
    topic = topic_of(max_message_bytes="2000")
    with producer(bootstrap) as sender:
        assert isinstance(sender.send(topic, b"x" * 6000).exception(10), RecordTooLargeException)


def test_a_timestamp_that_the_topic_refuses_fails_its_future(
    bootstrap: str, topic_of: Callable[..., str]
) -> None:
    topic = topic_of(message_timestamp_before_max_ms="1000")
    with producer(bootstrap) as sender:
        assert isinstance(sender.send(topic, b"v", timestamp=5).exception(10), InvalidTimestampException)


def test_an_unknown_topic_is_waited_for_and_then_times_out(bootstrap: str) -> None:
    with producer(bootstrap, max_block_ms=300) as sender:
        failure = sender.send("nonesuch", b"v").exception(5)
    assert isinstance(failure, TimeoutException)
    assert str(failure) == "Topic nonesuch not present in metadata after 300 ms."


def test_a_partition_that_is_not_there_times_out_likewise(bootstrap: str, topic: str) -> None:
    with producer(bootstrap, max_block_ms=300) as sender:
        failure = sender.send(topic, b"v", partition=4).exception(5)
    assert isinstance(failure, TimeoutException)
    assert f"Partition 4 of topic {topic} with partition count 1" in str(failure)


def test_a_full_buffer_blocks_and_then_times_out() -> None:
    with Producer(
        {
            "bootstrap.servers": "127.0.0.1:1",
            "max.block.ms": 200,
            "buffer.memory": 65_536,
            "delivery.timeout.ms": 400,
            "linger.ms": 0,
            "request.timeout.ms": 300,
        }
    ) as sender:
        failure = sender.send("t", b"x").exception(5)
        assert isinstance(failure, TimeoutException)


def test_a_buffer_without_room_is_buffer_exhausted(bootstrap: str, topic: str) -> None:
    with producer(
        bootstrap, buffer_memory=20_000, max_block_ms=200, linger_ms=60_000, batch_size=1_000_000
    ) as sender:
        futures = [sender.send(topic, b"x" * 4000) for _ in range(8)]
        failures = [future.exception(0) for future in futures if future.done()]
        assert failures
        assert all(isinstance(failure, BufferExhaustedException) for failure in failures)


def test_a_serializer_that_fails_raises_and_sends_nothing(bootstrap: str, topic: str) -> None:
    with producer(bootstrap, value_serializer=StringSerializer) as sender:
        with pytest.raises(SerializationException, match="takes a str, not int"):
            sender.send(topic, 5)
        with pytest.raises(SerializationException, match="could not serialize the key"):
            producer(bootstrap, key_serializer=lambda key: 1 / 0).send(topic, None, key="k")
        assert sender.send(topic, "fine").result(10).offset == 0


def test_a_closed_producer_says_so(bootstrap: str, topic: str) -> None:
    sender = producer(bootstrap)
    sender.close()
    sender.close()
    with pytest.raises(IllegalStateException, match="closed"):
        sender.send(topic, b"v")


def test_close_waits_for_what_was_sent(bootstrap: str, topic: str) -> None:
    sender = producer(bootstrap, linger_ms=60_000)
    future = sender.send(topic, b"v")
    sender.close()
    assert future.result(0).offset == 0


def test_a_transaction_commits_or_leaves_nothing(bootstrap: str, topic: str) -> None:
    with producer(bootstrap, transactional_id=f"t-{topic}") as sender:
        sender.init_transactions(10)
        with sender.transaction():
            sender.send(topic, b"kept")
        with pytest.raises(SerializationException), sender.transaction():
            sender.send(topic, b"gone").result(10) and sender.send(topic, 5)
        with sender.transaction():
            sender.send(topic, b"kept too")
    records = read(bootstrap, topic, 2, isolation_level="read_committed")
    assert [each.value for each in records] == [b"kept", b"kept too"]


def test_a_transaction_with_a_record_that_failed_cannot_be_committed(bootstrap: str, topic: str) -> None:
    with producer(bootstrap, transactional_id=f"t-{topic}", max_request_size=2000) as sender:
        sender.init_transactions(10)
        sender.begin_transaction()
        sender.send(topic, b"x" * 3000)
        with pytest.raises(KafkaException, match="a record of the transaction failed"):
            sender.commit_transaction(10)
        sender.abort_transaction(10)
        with sender.transaction():
            sender.send(topic, b"fine")


def test_a_second_producer_of_the_same_id_fences_the_first(bootstrap: str, topic: str) -> None:
    with producer(bootstrap, transactional_id=f"t-{topic}") as first:
        first.init_transactions(10)
        first.begin_transaction()
        first.send(topic, b"v").result(10)
        with producer(bootstrap, transactional_id=f"t-{topic}") as second:
            second.init_transactions(10)
            with pytest.raises(ProducerFencedException):
                first.commit_transaction(10)


def test_transactions_need_an_id(bootstrap: str) -> None:
    with producer(bootstrap) as sender, pytest.raises(IllegalStateException, match=r"no transactional\.id"):
        sender.begin_transaction()


def test_metrics_count_what_was_sent_and_what_failed(bootstrap: str, topic: str) -> None:
    with producer(bootstrap, max_request_size=5000) as sender:
        sender.send(topic, b"v").result(10)
        sender.send(topic, b"x" * 6000).exception(5)
        metrics = sender.metrics()
    assert metrics["record-send-total"] == 1
    assert metrics["record-error-total"] == 1


def test_metrics_still_count_what_an_earlier_flush_waited_for(bootstrap: str, topic: str) -> None:
    with producer(bootstrap) as sender:
        for _ in range(3):
            sender.send(topic, b"x")
            sender.flush()
        assert sender.metrics()["record-send-total"] == 3


def test_a_future_of_a_large_record_is_small(bootstrap: str, topic: str) -> None:
    with producer(bootstrap) as sender:
        futures = [sender.send(topic, b"x" * 100_000) for _ in range(20)]
        sender.flush()
        tracemalloc.start()
        more = [sender.send(topic, b"x" * 100_000) for _ in range(20)]
        sender.flush()
        kept = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    assert kept < 200_000
    assert [each.result(0).offset for each in futures + more] == list(range(40))


def test_without_a_compiler_the_producer_does_the_same() -> None:
    program = """
from penstock.client import Producer
from penstock.client.api import sent
from penstock.testing import Broker
with Broker() as broker, Producer({"bootstrap.servers": broker.bootstrap_servers}) as producer:
    heard = []
    futures = [
        producer.send("t", b"v", callback=lambda found, error: heard.append(found.offset)) for _ in range(5)
    ]
    futures.append(producer.send("t", b"v" * 2_000_000))
    producer.flush()
    print(sent.ACTIVE, [each.result(0).offset for each in futures[:5]], heard)
    print(type(futures[5].exception(0)).__name__, producer.metrics()["record-send-total"])
"""
    environment = {**os.environ, "PENSTOCK_PURE_WALK": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "pure [0, 1, 2, 3, 4] [0, 1, 2, 3, 4]",
        "RecordTooLargeException 5",
    ], done.stderr


def test_partitions_are_described(bootstrap: str, topic_of: Callable[..., str]) -> None:
    topic = topic_of(2)
    with producer(bootstrap) as sender:
        found = sender.partitions_for(topic)
    assert [each.partition for each in found] == [0, 1]
    assert all(each.leader == each.replicas[0] for each in found)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"linger.msec": 5}, r"linger\.msec is no setting of a producer\. Did you mean linger\.ms\?"),
        ({"linger.ms": "soon"}, r"linger\.ms='soon' is not a whole number"),
        ({"acks": "2"}, "is not all, -1, 0 or 1"),
        ({"acks": "1", "enable.idempotence": True}, "needs acks=all"),
        ({"transactional.id": "t", "enable.idempotence": "false"}, r"transactional\.id needs"),
        ({"sasl.login.class": "x"}, "cannot be honoured: librdkafka has no Java log-in classes"),
        ({"partitioner.class": "no.such.Class"}, r"partitioner\.class=no\.such\.Class names no class"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/x.jks"}, r"/x\.jks cannot be read"),
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": "com.sun.Krb5LoginModule required;",
            },
            "PLAIN needs .*PlainLoginModule",
        ),
    ],
)
def test_a_wrong_setting_is_refused_with_the_reason(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigException, match=words):
        Producer({"bootstrap.servers": "127.0.0.1:1", **settings})


def test_addresses_are_needed() -> None:
    with pytest.raises(ConfigException, match=r"bootstrap\.servers is missing"):
        Producer({})
