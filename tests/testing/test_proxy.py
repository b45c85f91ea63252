"""The proxy: transparent until told otherwise, and precise when told to hold, drop or exchange a frame."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.protocol import messages
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.records.record import Record, encode_batch
from penstock.testing import Broker
from penstock.testing.history.clients import read_to_the_end
from penstock.testing.history.events import Partition
from penstock.testing.proxy import Proxy
from penstock.testing.proxy_frames import Frame, Way
from penstock.wire.connection import Address, Connection
from penstock.wire.deadline import Deadline
from penstock.wire.errors import WireError

SECONDS = 30.0
PLACE = Partition("through", 0)
CLUSTER = {"include_cluster_authorized_operations": False}


@pytest.fixture
def proxy(penstock_broker: Broker) -> Iterator[Proxy]:
    admin = AdminClient({"bootstrap.servers": penstock_broker.bootstrap_servers})
    admin.create_topics([NewTopic(PLACE.topic, 1)])[PLACE.topic].result(SECONDS)
    with Proxy(penstock_broker.bootstrap_servers) as proxy:
        yield proxy


class Sender:
    """An idempotent producer through the proxy that remembers its delivery reports."""

    def __init__(self, proxy: Proxy, **settings: Any) -> None:
        self.offsets: dict[bytes, int] = {}
        self.errors: list[str] = []
        config = {"bootstrap.servers": proxy.bootstrap_servers, "enable.idempotence": True, "linger.ms": 0}
        self._producer = Producer({**config, **{name.replace("_", "."): v for name, v in settings.items()}})

    def send(self, value: bytes) -> None:
        self._producer.produce(PLACE.topic, value, partition=0, on_delivery=self._delivered)
        self._producer.poll(0)

    def flush(self) -> None:
        assert self._producer.flush(SECONDS) == 0
        assert self.errors == []

    def _delivered(self, error: object, message: Message) -> None:
        if error is not None:
            self.errors.append(str(error))
        else:
            self.offsets[bytes(message.value() or b"")] = int(message.offset() or 0)


def stored(broker: Broker) -> list[bytes]:
    """What is in the log, read past the proxy."""
    (final,) = read_to_the_end(broker.bootstrap_servers, [PLACE], seconds=SECONDS)
    return [record.value for record in final.records if isinstance(record.value, bytes)]


def test_clients_stay_on_the_proxy(proxy: Proxy, penstock_broker: Broker) -> None:
    requests = proxy.watch(way=Way.TO_BROKER)
    sender = Sender(proxy)
    sender.send(b"one")
    sender.flush()
    consumer = Consumer({"bootstrap.servers": proxy.bootstrap_servers, "group.id": "g"})
    try:
        consumer.assign([TopicPartition(*PLACE, 0)])
        assert [message.value() for message in consumer.consume(1, SECONDS)] == [b"one"]
        consumer.commit(offsets=[TopicPartition(*PLACE, 1)], asynchronous=False)
    finally:
        consumer.close()
    admin = AdminClient({"bootstrap.servers": proxy.bootstrap_servers})
    described = admin.describe_cluster().result(SECONDS)
    host, port = proxy.bootstrap_servers.split(":")
    assert [(node.host, node.port) for node in described.nodes] == [(host, int(port))]
    seen = {frame.api for frame in requests.caught}
    assert {Api.PRODUCE, Api.FETCH, Api.OFFSET_COMMIT, Api.FIND_COORDINATOR} <= seen


def test_every_version_of_every_answer_with_addresses_names_the_proxy(proxy: Proxy) -> None:
    host, port = proxy.bootstrap_servers.split(":")
    proxied = (host, int(port))
    with connected(proxy) as connection:
        for version in range(14):
            fields = {
                "topics": [{"name": PLACE.topic, "topic_id": None}],
                "allow_auto_topic_creation": True,
                "include_topic_authorized_operations": False,
                **CLUSTER,
            }
            answer = ask(connection, Api.METADATA, version, fields)
            assert [(node.host, node.port) for node in answer.brokers] == [proxied], version
            assert [len(topic.partitions) for topic in answer.topics] == [1], version
        for version in range(7):
            fields = {"key": "g", "key_type": 0, "coordinator_keys": ["g"]}
            answer = ask(connection, Api.FIND_COORDINATOR, version, fields)
            found = answer.coordinators[0] if version >= 4 else answer
            assert (found.host, found.port) == proxied, version
        for version in range(2):
            answer = ask(connection, Api.DESCRIBE_CLUSTER, version, CLUSTER)
            assert [(node.host, node.port) for node in answer.brokers] == [proxied], version


def test_a_coordinator_that_is_not_there_has_no_address_to_change(proxy: Proxy) -> None:
    with connected(proxy) as connection:
        found = ask(connection, Api.FIND_COORDINATOR, 4, {"key_type": 9, "coordinator_keys": ["g"]})
    assert (found.coordinators[0].host, found.coordinators[0].port) == ("", -1)


@contextmanager
def connected(proxy: Proxy) -> Iterator[Connection]:
    connection = Connection(Address.parse(proxy.bootstrap_servers), Deadline(SECONDS))
    try:
        yield connection
    finally:
        connection.close()


def ask(connection: Connection, api: Api, version: int, fields: dict[str, Any]) -> Any:
    return connection.call(api, fields, Deadline(SECONDS), oldest=version, newest=version)


def test_a_held_produce_is_delivered_when_it_is_released(proxy: Proxy, penstock_broker: Broker) -> None:
    held = proxy.hold(Api.PRODUCE, Way.TO_BROKER)
    sender = Sender(proxy)
    sender.send(b"one")
    frame = held.wait(seconds=SECONDS)
    assert frame.message().topic_data[0].partition_data
    assert stored(penstock_broker) == []
    assert sender.offsets == {}
    held.release()
    sender.flush()
    assert sender.offsets == {b"one": 0}
    assert stored(penstock_broker) == [b"one"]


def test_a_lost_answer_makes_the_producer_repeat_and_learn_the_first_offset(
    proxy: Proxy, penstock_broker: Broker
) -> None:
    dropped = proxy.drop(Api.PRODUCE, Way.TO_CLIENT)
    requests = proxy.watch(Api.PRODUCE, Way.TO_BROKER)
    sender = Sender(proxy, socket_timeout_ms=500, request_timeout_ms=500)
    sender.send(b"one")
    sender.flush()
    assert dropped.caught
    assert len(requests.caught) >= 2
    assert sender.offsets == {b"one": 0}
    assert stored(penstock_broker) == [b"one"]


def test_exchanged_produces_are_refused_and_repeated_without_loss(
    proxy: Proxy, penstock_broker: Broker
) -> None:
    sender = Sender(proxy, max_in_flight=5)
    sender.send(b"zero")
    sender.flush()
    answers = proxy.watch(Api.PRODUCE, Way.TO_CLIENT, where=lambda frame: error_of(frame) != ErrorCode.NONE)
    swapped = proxy.swap(Api.PRODUCE, Way.TO_BROKER)
    sender.send(b"one")
    swapped.wait(1, seconds=SECONDS)
    sender.send(b"two")
    swapped.wait(2, seconds=SECONDS)
    sender.flush()
    assert error_of(answers.wait(seconds=SECONDS)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert sender.offsets == {b"zero": 0, b"one": 1, b"two": 2}
    assert stored(penstock_broker) == [b"zero", b"one", b"two"]


def error_of(frame: Frame) -> int:
    return int(frame.message().responses[0].partition_responses[0].error_code)


def produce(connection: Connection, value: bytes) -> None:
    """Send one record, and do not wait for the answer."""
    batch = encode_batch([Record(None, value, (), 0)])
    topics = [{"name": PLACE.topic, "partition_data": [{"index": 0, "records": bytes(batch)}]}]
    fields = {"transactional_id": None, "acks": -1, "timeout": 1000, "topic_data": topics}
    body = messages.encode_request(Api.PRODUCE, 9, fields)
    connection.send(Api.PRODUCE, 9, [body], Deadline(SECONDS))


def answered(connection: Connection) -> None:
    connection.receive(Deadline(SECONDS))


def test_a_late_frame_arrives_although_its_client_has_gone(proxy: Proxy, penstock_broker: Broker) -> None:
    held = proxy.hold(Api.PRODUCE, Way.TO_BROKER)
    answers = proxy.watch(Api.PRODUCE, Way.TO_CLIENT)
    with connected(proxy) as connection:
        produce(connection, b"late")
        held.wait(seconds=SECONDS)
    with connected(proxy) as connection:
        produce(connection, b"early")
        answered(connection)
    held.release()
    answers.wait(2, seconds=SECONDS)
    assert stored(penstock_broker) == [b"early", b"late"]


def test_frames_overtake_a_held_one_unless_the_line_is_stalled(proxy: Proxy, penstock_broker: Broker) -> None:
    held = proxy.hold(Api.PRODUCE, Way.TO_BROKER)
    with connected(proxy) as connection:
        passed = proxy.watch(Api.DESCRIBE_CLUSTER, Way.TO_CLIENT)
        produce(connection, b"one")
        held.wait(seconds=SECONDS)
        send_describe(connection)
        passed.wait(seconds=SECONDS)
        assert stored(penstock_broker) == []
        held.release()
    with connected(proxy) as connection:
        stalled = proxy.hold(Api.PRODUCE, Way.TO_BROKER, stall=True)
        passed = proxy.watch(Api.DESCRIBE_CLUSTER, Way.TO_BROKER)
        produce(connection, b"two")
        stalled.wait(seconds=SECONDS)
        send_describe(connection)
        assert not passed.caught
        stalled.release()
        answered(connection)
        answered(connection)
    assert stored(penstock_broker) == [b"one", b"two"]


def send_describe(connection: Connection) -> None:
    body = messages.encode_request(Api.DESCRIBE_CLUSTER, 0, CLUSTER)
    connection.send(Api.DESCRIBE_CLUSTER, 0, [body], Deadline(SECONDS))


def test_the_nth_frame_that_a_predicate_chooses_is_delayed(proxy: Proxy, penstock_broker: Broker) -> None:
    def is_long(frame: Frame) -> bool:
        return len(frame.message().topic_data[0].partition_data[0].records) > 500

    delayed = proxy.delay(Api.PRODUCE, Way.TO_BROKER, 0.3, nth=2, where=is_long)
    with connected(proxy) as connection:
        for value in (b"x" * 1000, b"short", b"y" * 1000):
            produce(connection, value)
        began = time.monotonic()
        for _ in range(3):
            answered(connection)
        assert time.monotonic() - began >= 0.2
    assert [frame.correlation_id for frame in delayed.caught] == [4]
    assert [value[:1] for value in stored(penstock_broker)] == [b"x", b"s", b"y"]


def test_a_frame_can_cut_its_connection(proxy: Proxy, penstock_broker: Broker) -> None:
    proxy.cut(Api.PRODUCE, Way.TO_CLIENT)
    with connected(proxy) as connection:
        produce(connection, b"one")
        with pytest.raises(WireError):
            answered(connection)
    assert stored(penstock_broker) == [b"one"]


def test_a_client_of_a_dead_broker_is_cut_off_and_comes_back(penstock_broker: Broker) -> None:
    with Proxy(penstock_broker.bootstrap_servers) as proxy:
        with connected(proxy) as connection:
            proxy.cut_all()
            with pytest.raises(WireError):
                ask(connection, Api.DESCRIBE_CLUSTER, 0, CLUSTER)
        with connected(proxy) as connection:
            assert ask(connection, Api.DESCRIBE_CLUSTER, 0, CLUSTER).brokers
    with pytest.raises(WireError), connected(proxy):
        pytest.fail("the proxy is closed")


def test_a_frame_that_never_comes_is_not_waited_for_forever(proxy: Proxy) -> None:
    with pytest.raises(TimeoutError, match="0 frames"):
        proxy.hold(Api.END_TXN, Way.TO_BROKER).wait(seconds=0.01)
