"""Metadata, leaders and lent connections, against both brokers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from penstock.protocol.apis import Api
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.cluster import Cluster
from penstock.wire.connection import Address, Connection
from penstock.wire.deadline import Deadline
from penstock.wire.errors import (
    DeadlineExceeded,
    Disconnected,
    Malformed,
    UnknownTopic,
    Unreachable,
    Unsupported,
)


def soon() -> Deadline:
    return Deadline(20)


def test_a_topic_is_found_with_its_partitions_and_leaders(
    cluster: Cluster, new_topic: Callable[..., str]
) -> None:
    name = new_topic(partitions=3)
    topic = cluster.topics([name], soon())[name]
    assert sorted(topic.partitions) == [0, 1, 2]
    leader = cluster.leader(TopicPartition(name, 2), soon())
    assert leader.node_id == topic.partitions[2].leader
    assert any(leader.topic_id)


def test_all_topics_are_listed(cluster: Cluster, new_topic: Callable[..., str]) -> None:
    name = new_topic()
    assert name in cluster.topics(None, soon())


def test_a_missing_topic_is_said_by_name_with_what_to_do(cluster: Cluster) -> None:
    with pytest.raises(UnknownTopic, match=r"'nowhere' does not exist at .*create it"):
        cluster.topic("nowhere", soon())


def test_a_missing_topic_is_created_on_demand(cluster: Cluster) -> None:
    topic = cluster.topic("made-by-asking", soon(), create=True)
    assert len(topic.partitions) >= 1


def test_a_partition_that_the_topic_does_not_have_is_said(
    cluster: Cluster, new_topic: Callable[..., str]
) -> None:
    with pytest.raises(UnknownTopic, match="has 1 partitions and no partition 5"):
        cluster.leader(TopicPartition(new_topic(), 5), soon())


def test_a_connection_is_lent_again_but_not_after_the_broker_closed_it(cluster: Cluster) -> None:
    with cluster.any_connection(soon()) as first:
        pass
    with cluster.any_connection(soon()) as second:
        assert second is first
        second.interrupt()  # as if the other end had gone
    with cluster.any_connection(soon()) as third:
        assert third is not first


def test_two_borrowers_get_two_connections(cluster: Cluster) -> None:
    with cluster.any_connection(soon()) as first, cluster.any_connection(soon()) as second:
        assert first is not second


def test_the_newest_common_version_is_taken_and_its_absence_is_said(cluster: Cluster) -> None:
    with cluster.any_connection(soon()) as connection:
        assert connection.version(Api.FETCH, 4, 12) == 12
        with pytest.raises(Unsupported, match="speaks FETCH in versions"):
            connection.version(Api.FETCH, 900, 901)


def test_nobody_at_the_address_is_said_with_the_address() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(DeadlineExceeded, match=f"no broker answers at 127.0.0.1:{port}"):
        Cluster(f"127.0.0.1:{port}").topics(None, Deadline(0.1))


@pytest.mark.parametrize(
    "text", ["localhost", "localhost:", ":9092", "localhost:ninety", "localhost:70000", ""]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="localhost:9092"):
        Cluster(text)


def test_addresses_are_read_as_kafka_writes_them() -> None:
    assert Address.parse("PLAINTEXT://broker-1:9092") == ("broker-1", 9092)
    assert Address.parse("[::1]:9092") == ("::1", 9092)
    assert str(Address("::1", 9092)) == "[::1]:9092"


@contextmanager
def listener(answer: bytes | None) -> Iterator[Address]:
    """Takes one connection, reads a little, answers with `answer` (or never), and closes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            taken, _ = server.accept()
            with taken:
                taken.settimeout(10)
                taken.recv(4096)
                if answer is not None:
                    taken.sendall(answer)
                else:
                    taken.recv(4096)

        thread = threading.Thread(target=serve)
        thread.start()
        yield Address("127.0.0.1", server.getsockname()[1])
        thread.join(10)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", Malformed),
        (b"\x00\x00\x00\x02ab", Malformed),
        (b"\xff\xff\xff\xff", Malformed),
        (b"\x00\x00\x00\x08\x00\x00\x00\x63abcd", Malformed),
        (b"\x00\x00\x00\x0a\x00\x00\x00\x01\x00\x00\xff\xff\xff\xff", Malformed),
        (b"\x00\x00", Disconnected),
        (b"", Disconnected),
    ],
)
def test_what_is_no_answer_of_a_broker_closes_the_connection(
    answer: bytes, expected: type[Exception]
) -> None:
    with listener(answer) as address, pytest.raises(expected, match=str(address.port)):
        Connection(address, Deadline(5))


def test_silence_is_bounded_by_the_deadline() -> None:
    with listener(None) as address, pytest.raises(DeadlineExceeded, match="did not answer in"):
        Connection(address, Deadline(0.2))


def test_unreachable_brokers_are_tried_one_after_the_other(servers: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        dead = f"127.0.0.1:{closed.getsockname()[1]}"
    cluster = Cluster(f"{dead},{servers}")
    assert cluster.topics(None, soon()) is not None
    cluster.close()
    with pytest.raises(Unreachable):
        Connection(Address.parse(dead), Deadline(1))
