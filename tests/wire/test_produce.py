"""Producing to both brokers; what was written is read by a real client (librdkafka)."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Position

from penstock.protocol.topic_partition import TopicPartition
from penstock.records.codecs import Codec
from penstock.records.record import Record
from penstock.wire.cluster import Cluster
from penstock.wire.connection import Address
from penstock.wire.deadline import Deadline
from penstock.wire.errors import DeliveryFailed
from penstock.wire.pack import pack_records
from penstock.wire.produce import Producer, ProducerOptions, partition_count

NOW = 1_700_000_000_000


def consume(servers: str, topic: str, count: int, partition: int = 0) -> list[Record]:
    """What stands in the partition from its beginning; fails when there is less than `count`."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "wire", "enable.auto.commit": False})
    consumer.assign([Position(topic, partition, 0)])
    found: list[Record] = []
    while len(found) < count:
        message = consumer.poll(10)
        assert message is not None, f"{len(found)} of {count} records"
        assert message.error() is None
        headers = tuple((name, value) for name, value in message.headers() or ())
        found.append(
            Record(message.key(), message.value(), headers, message.timestamp()[1], message.offset())
        )
    assert consumer.get_watermark_offsets(Position(topic, partition), timeout=10)[1] == count
    consumer.close()
    return found


@pytest.mark.parametrize("codec", list(Codec))
def test_keys_values_headers_and_times_arrive_in_order(
    cluster: Cluster, servers: str, new_topic: Callable[..., str], codec: Codec
) -> None:
    topic = new_topic()
    sent = [
        Record(
            b"k%d" % n if n % 3 else None,
            b"v%d" % n if n % 5 else None,
            (("h", b"x"), ("n", None)),
            NOW + n,
            n,
        )
        for n in range(300)
    ]
    producer = Producer(cluster, ProducerOptions(codec=codec, buffer_bytes=2000))
    for start in range(0, 300, 20):
        producer.send(TopicPartition(topic, 0), pack_records(sent[start : start + 20]))
    producer.flush()
    assert producer.acknowledged == 300
    assert consume(servers, topic, 300) == sent


def test_several_partitions_and_topics_go_together(
    cluster: Cluster, servers: str, new_topic: Callable[..., str]
) -> None:
    targets = [TopicPartition(new_topic(partitions=2), partition) for partition in (0, 1) for _ in (0, 1)]
    producer = Producer(cluster)
    for number, target in enumerate(targets * 10):
        producer.send(target, pack_records([Record(None, b"%d" % number, (), NOW)]))
    producer.flush()
    for number, target in enumerate(targets):
        values = [int(record.value or b"") for record in consume(servers, target.topic, 10, target.partition)]
        assert values == list(range(number, 40, 4))


def test_a_batch_that_is_too_large_for_the_topic_is_split(
    cluster: Cluster, servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(max_message_bytes="3000")
    producer = Producer(cluster)
    sent = [Record(None, b"%03d" % number * 300, (), NOW) for number in range(20)]
    producer.send(TopicPartition(topic, 0), pack_records(sent))
    producer.send(TopicPartition(topic, 0), pack_records([Record(None, b"last", (), NOW)]))
    producer.flush()
    values = [record.value for record in consume(servers, topic, 21)]
    assert values == [*(record.value for record in sent), b"last"]


def test_a_record_that_is_too_large_fails_with_the_brokers_reason(
    cluster: Cluster, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(max_message_bytes="1000")
    producer = Producer(cluster)
    producer.send(TopicPartition(topic, 0), pack_records([Record(None, b"x" * 2000, (), NOW)]))
    with pytest.raises(DeliveryFailed, match=f"refused a batch for {topic}-0: MESSAGE_TOO_LARGE"):
        producer.flush()
    with pytest.raises(DeliveryFailed, match="failed before"):
        producer.flush()


class Breaking:
    """A proxy between us and a broker that drops the connection instead of passing on some answers."""

    def __init__(self, target: Address) -> None:
        self._target = target
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = Address("127.0.0.1", self._server.getsockname()[1])
        self.dropped = 0
        self.drop_next = False
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            broker = socket.create_connection(self._target)
            threading.Thread(target=self._pass_on, args=(client, broker, False), daemon=True).start()
            threading.Thread(target=self._pass_on, args=(broker, client, True), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        while True:
            try:
                data = source.recv(65536)
                if answers and data and self.drop_next:
                    self.drop_next = False
                    self.dropped += 1
                    data = b""
                if data:
                    sink.sendall(data)
                    continue
            except OSError:
                pass
            for end in (source, sink):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            return

    def close(self) -> None:
        self._server.close()


def test_a_batch_whose_answer_was_lost_is_written_once(
    cluster: Cluster, servers: str, new_topic: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = new_topic()
    proxy = Breaking(Address.parse(servers))
    partition = TopicPartition(topic, 0)
    producer = Producer(cluster)
    producer.send(partition, pack_records([Record(None, b"0", (), NOW)]))
    producer.flush()
    # From here on the leader is reached through the proxy only.
    real = Cluster._borrow
    monkeypatch.setattr(
        Cluster, "_borrow", lambda self, address, deadline: real(self, proxy.address, deadline)
    )
    for number in range(1, 4):
        producer.send(partition, pack_records([Record(None, b"%d" % number, (), NOW)]))
        proxy.drop_next = number == 2
        producer.flush()
    monkeypatch.undo()
    proxy.close()
    assert proxy.dropped == 1
    assert [record.value for record in consume(servers, topic, 4)] == [b"0", b"1", b"2", b"3"]


def test_no_broker_in_time_fails_with_the_reason() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    producer = Producer(Cluster(f"127.0.0.1:{port}"), ProducerOptions(delivery_seconds=0.2))
    producer.send(TopicPartition("t", 0), pack_records([Record(None, b"v", (), NOW)]))
    with pytest.raises(DeliveryFailed, match=r"1 records not acknowledged .*no broker answers"):
        producer.flush()


def test_the_number_of_partitions_is_that_of_the_topic(
    cluster: Cluster, new_topic: Callable[..., str]
) -> None:
    assert partition_count(cluster, new_topic(partitions=4), Deadline(20)) == 4
