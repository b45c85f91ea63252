"""Plain produce requests natively, beside the handlers: the same frames to two brokers give the same answers
and the same log, whatever is in the frames."""

from __future__ import annotations

import os
import re
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from crc32c import crc32c

from penstock.clock import SystemClock
from penstock.handlers.reply import HangUp, NoReply, Wait
from penstock.protocol.apis import Api
from penstock.protocol.messages import encode_request
from penstock.protocol.metadata import Node as Endpoint
from penstock.protocol.primitives import MalformedMessage
from penstock.records.codecs import Codec
from penstock.records.record import Record, encode_batch
from penstock.server.connections.complaints import Complaints
from penstock.server.connections.connection import Commons, Connection
from penstock.server.connections.memory import NO_BOUND, RequestMemory
from penstock.server.connections.plain import fold_counts, new_conversation, new_plain
from penstock.server.connections.session import Session
from penstock.server.connections.transport import PlainTransport
from penstock.server.connections.turns import new_turns
from penstock.server.node import Node
from penstock.settings import BrokerSettings
from penstock.storage import tail as tails
from penstock.storage.disk import OsDisk
from tests.handlers.one_node import LISTENER, OneNode, request_frame

pytestmark = pytest.mark.skipif(tails.NATIVE is None, reason="there is no native tail")
VERSIONS = range(3, 14)
SECONDS = 20.0


class RealNode(OneNode):
    """A node on the machine's own disk, with its clock."""

    def __init__(self, place: Path, *, plain: bool) -> None:
        self.clock: Any = SystemClock()
        settings = BrokerSettings.from_texts({"log.dirs": str(place)})
        self.node = Node(
            settings, OsDisk(), self.clock, Random(2), {LISTENER: Endpoint(1, "localhost", 9092)}
        )
        self.plain = new_plain(self.node.broker) if plain else None
        self.session = self.connect()
        self.topic_id = self.create_topic("t")

    def connect(self, *_: Any, **__: Any) -> Session:
        plain = None if self.plain is None else new_conversation(self.plain)
        return Session(self.broker, LISTENER, "127.0.0.1", plain=plain)

    @property
    def log(self) -> Any:
        partition = self.broker.partitions.find("t", 0)
        assert partition is not None
        return partition.log

    def content(self) -> bytes:
        with self.log.to_read:
            return Path(self.log._segments.active.path).read_bytes()

    def served(self) -> int:
        """Natively."""
        assert self.plain is not None
        before = self.broker.metrics.requests[Api.PRODUCE].count
        fold_counts(self.broker, self.plain)
        return self.broker.metrics.requests[Api.PRODUCE].count - before


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[RealNode, RealNode]]:
    nodes = RealNode(tmp_path / "a", plain=True), RealNode(tmp_path / "b", plain=False)
    yield nodes
    for node in nodes:
        node.node.close()


def frame_of(node: RealNode, version: int, batch: bytes, *, acks: int = -1, partitions: int = 1) -> bytes:
    data = [{"index": index, "records": batch} for index in range(partitions)]
    topic = {"name": "t", "topic_id": node.topic_id, "partition_data": data}
    fields = {"transactional_id": None, "acks": acks, "timeout": 1000, "topic_data": [topic]}
    return request_frame(Api.PRODUCE, version, encode_request(Api.PRODUCE, version, fields), "test")


def batch_of(*values: bytes, codec: Codec = Codec.NONE, **options: Any) -> bytes:
    now_ms = SystemClock().now_ms()
    return bytes(encode_batch([Record(b"k", value, (), now_ms) for value in values], codec=codec, **options))


def handled(node: RealNode, frame: bytes) -> Any:
    """All that a client would see of it."""
    try:
        exchange = node.session.handle(memoryview(bytearray(frame)))
    except (MalformedMessage, HangUp) as error:
        return type(error)
    if isinstance(exchange.outcome, NoReply):
        return None
    assert not isinstance(exchange.outcome, Wait)
    answer = exchange.header + b"".join(part for part in exchange.outcome.parts if isinstance(part, bytes))
    # The ids of the two topics differ, and so do the times in what is said of timestamps.
    return re.sub(rb"[0-9]{12,}", b"#", answer.replace(node.topic_id, bytes(16)))


@pytest.mark.parametrize("version", VERSIONS)
def test_answers_are_those_of_the_handlers(pair: tuple[RealNode, RealNode], version: int) -> None:
    native, handlers = pair
    for number in range(20):
        codec = Codec.LZ4 if number % 3 == 0 else Codec.NONE
        batch = batch_of(b"%d" % number, b"x" * number * 50, codec=codec)
        for acks in (-1, 1, 0):
            answers = [handled(node, frame_of(node, version, batch, acks=acks)) for node in pair]
            assert answers[0] == answers[1]
    assert native.content() == handlers.content()
    assert native.served() == 59  # all but the first, which opened the tail


def test_hostile_frames_are_treated_as_by_the_handlers(pair: tuple[RealNode, RealNode]) -> None:
    native, handlers = pair
    random = Random(7)
    for _ in range(1_500):
        version = random.choice(VERSIONS)
        codec = random.choice((Codec.NONE, Codec.NONE, Codec.LZ4, Codec.GZIP))
        batch = bytearray(batch_of(*[b"v" * random.randrange(40)] * random.randrange(1, 4), codec=codec))
        if random.random() < 0.4:
            batch[random.randrange(len(batch))] ^= 1 << random.randrange(8)
            if random.random() < 0.7:
                struct.pack_into(">I", batch, 17, crc32c(batch[21:]))
        places = random.random() < 0.3, random.random(), random.randrange(256)
        cut = random.random() if random.random() < 0.1 else None
        answers = []
        for node in pair:
            frame = bytearray(frame_of(node, version, bytes(batch)))
            if places[0]:
                # Among the fields before the topic, and behind the batch; ids differ between the two.
                at = 2 + int(places[1] * 20)
                frame[at if places[2] % 2 else len(frame) - 1 - int(places[1] * 3)] = places[2]
            answers.append(handled(node, bytes(frame[: int(len(frame) * cut)] if cut is not None else frame)))
        assert answers[0] == answers[1]
    assert native.content() == handlers.content()
    assert native.served() > 200


def test_sequences_are_kept_and_copies_known(pair: tuple[RealNode, RealNode]) -> None:
    native, handlers = pair
    random, following = Random(3), 0
    for _ in range(400):
        sequence = following if random.random() < 0.8 else max(0, following - random.randrange(-2, 8))
        batch = batch_of(b"a", producer_id=5, producer_epoch=0, base_sequence=sequence)
        answers = [handled(node, frame_of(node, 9, batch)) for node in pair]
        assert answers[0] == answers[1]
        following += sequence == following
    assert native.content() == handlers.content()
    assert native.served() > 200


def test_several_partitions_go_to_the_handlers(pair: tuple[RealNode, RealNode]) -> None:
    batch = batch_of(b"a")
    for _ in range(2):
        answers = [handled(node, frame_of(node, 9, batch, partitions=2)) for node in pair]
        assert answers[0] == answers[1]
    assert pair[0].served() == 0


def test_a_quota_stops_it_at_once(pair: tuple[RealNode, RealNode]) -> None:
    native, batch = pair[0], batch_of(b"a")
    for _ in range(3):
        handled(native, frame_of(native, 9, batch))
    assert native.served() == 2
    native.broker.quotas.update({(("user", None),): {"producer_byte_rate": 1e9}})  # type: ignore[dict-item]
    for _ in range(3):
        handled(native, frame_of(native, 9, batch))
    assert native.served() == 0
    native.broker.quotas.update({})
    handled(native, frame_of(native, 9, batch))
    assert native.served() == 1


def test_what_is_served_natively_is_counted(pair: tuple[RealNode, RealNode]) -> None:
    for node in pair:
        for _ in range(40):
            handled(node, frame_of(node, 9, batch_of(b"a", b"b")))
        node.broker.metrics.gather()
    counts = []
    for node in pair:
        traffic, requests = node.broker.metrics.traffic.of("t"), node.broker.metrics.requests[Api.PRODUCE]
        counts.append(
            (
                traffic.produce_requests,
                traffic.bytes_in,
                traffic.messages_in,
                requests.count,
                requests.bytes_in,
            )
        )
    assert counts[0] == counts[1]
    served = pair[0].broker.metrics.requests[Api.PRODUCE].served
    assert 32 <= served.count <= 40
    assert served.sum_seconds > 0


class Client:
    """A connection served by its own thread, as the server does it."""

    def __init__(self, node: RealNode) -> None:
        ours, theirs = socket.socketpair()
        clock = SystemClock()
        commons = Commons(clock, new_turns(), RequestMemory(NO_BOUND, clock), Complaints(clock))
        transport = PlainTransport(theirs)
        self.socket = ours
        self.connection = Connection(
            transport, node.connect(), commons, host="here", max_frame_bytes=10_000_000
        )
        self.thread = threading.Thread(target=self.connection.run, daemon=True)
        self.thread.start()
        ours.settimeout(SECONDS)

    def send(self, *frames: bytes) -> None:
        self.socket.sendall(b"".join(struct.pack(">i", len(frame)) + frame for frame in frames))

    def answer(self) -> bytes:
        (size,) = struct.unpack(">i", self.socket.recv(4, socket.MSG_WAITALL))
        return self.socket.recv(size, socket.MSG_WAITALL)

    def close(self) -> None:
        self.connection.close()
        self.socket.close()
        self.thread.join(SECONDS)
        assert not self.thread.is_alive()


def test_requests_of_all_sizes_over_a_socket_are_answered_in_order(
    pair: tuple[RealNode, RealNode],
) -> None:
    """Small ones together, some in pieces, some larger than the buffer, and others between them."""
    native, random = pair[0], Random(5)
    client = Client(native)
    try:
        versions = encode_request(
            Api.API_VERSIONS, 3, {"client_software_name": "a", "client_software_version": "1"}
        )
        sent = 0
        for _ in range(60):
            frames, kinds = [], []
            for _ in range(random.randrange(1, 9)):
                size = random.choice((10, 2_000, 16_000, 70_000, 200_000))
                kind = random.choice(("produce", "produce", "produce", "two", "other", "quiet"))
                kinds.append(kind)
                if kind == "other":
                    frames.append(request_frame(Api.API_VERSIONS, 3, versions, "test"))
                    continue
                batch = batch_of(os.urandom(size))
                frames.append(
                    frame_of(
                        native, 9, batch, acks=0 if kind == "quiet" else 1, partitions=1 + (kind == "two")
                    )
                )
            data = b"".join(struct.pack(">i", len(frame)) + frame for frame in frames)
            sender = threading.Thread(target=send_in_pieces, args=(client.socket, data, Random(sent)))
            sender.start()
            for kind in kinds:
                if kind != "quiet":
                    answer = client.answer()
                if kind == "produce":
                    (offset,) = struct.unpack_from(">q", answer, 4 + 1 + 1 + 2 + 1 + 4 + 2)
                    assert offset == sent
                sent += kind != "other"
            sender.join(SECONDS)
        assert native.log.log_end_offset == sent
    finally:
        client.close()


def send_in_pieces(sock: socket.socket, data: bytes, random: Random) -> None:
    at = 0
    while at < len(data):
        size = random.choice((3, 100, 5_000, 100_000))
        sock.sendall(data[at : at + size])
        at += size


def test_a_reader_that_waits_is_woken(pair: tuple[RealNode, RealNode]) -> None:
    """Every record reaches a consumer that asks again as soon as it has its answer, without a deadline that
    could help."""
    native = pair[0]
    producer, consumer = Client(native), Client(native)
    try:
        producer.send(frame_of(native, 9, batch_of(b"0")))
        producer.answer()
        for offset in range(1, 150):
            wanted = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 10_000}
            fields: dict[str, Any] = {
                "max_wait": 15_000,
                "min_bytes": 1,
                "max_bytes": 100_000,
                "replica_id": -1,
            }
            topics = [{"topic": "t", "topic_id": None, "partitions": [wanted]}]
            body = encode_request(Api.FETCH, 12, {**fields, "topics": topics, "forgotten_topics_data": []})
            consumer.send(request_frame(Api.FETCH, 12, body, "test"))
            producer.send(frame_of(native, 9, batch_of(b"%d" % offset)))
            producer.answer()
            assert b"%d" % offset in consumer.answer()
    finally:
        producer.close()
        consumer.close()
    assert native.served() > 100
