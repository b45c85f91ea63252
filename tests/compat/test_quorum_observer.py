"""Our Raft observes Apache Kafka's controller: its log comes over in Kafka's messages, and is read."""

from __future__ import annotations

import socket
import struct
import time
from random import Random

from confluent_kafka.admin import AdminClient, NewTopic

from penstock.clock import SystemClock
from penstock.controller.quorum_log import QuorumLog
from penstock.handlers.quorum.messages import VERSIONS, api_of, encode_request, read_response
from penstock.raft.control_records import LEADER_CHANGE, control_type
from penstock.raft.messages import Request
from penstock.raft.raft import Raft
from penstock.records.batch import iter_headers
from penstock.records.record import decode_batch
from penstock.settings import TopicSettings
from penstock.storage.log import Log
from penstock.testing.disk import SimDisk
from tests.peers.apache_kafka import CLUSTER_ID, ApacheKafka, apache_kafka  # noqa: F401 (a fixture)

VOTER, OBSERVER = 1, 99
PATIENCE_SECONDS = 30


def test_an_observer_follows_apache_kafkas_metadata_log(apache_kafka: ApacheKafka) -> None:  # noqa: F811
    disk = SimDisk(Random(1))
    log = QuorumLog(Log.open(disk, "/log", TopicSettings(), SystemClock(), clean=False), disk)
    raft = Raft(OBSERVER, frozenset({VOTER}), log, SystemClock(), Random(1))
    admin = AdminClient({"bootstrap.servers": apache_kafka.bootstrap_servers})
    admin.create_topics([NewTopic("observed", 3, 1)])["observed"].result(timeout=PATIENCE_SECONDS)
    deadline = time.monotonic() + PATIENCE_SECONDS
    with socket.create_connection(
        ("127.0.0.1", apache_kafka.controller_port), PATIENCE_SECONDS
    ) as connection:
        while not _has_topic(log, raft.high_watermark) and time.monotonic() < deadline:
            raft.tick()
            for message in raft.ready().messages:
                assert isinstance(message, Request)
                raft.step(read_response(message, _ask(connection, message)))
    raft.check_invariants()
    assert raft.leader_id == VOTER
    assert raft.epoch == log.last_epoch > 0
    assert _has_topic(log, raft.high_watermark)
    first = decode_batch(log.read(0, 1 << 20))[0]
    assert control_type(first) == LEADER_CHANGE


def _has_topic(log: QuorumLog, committed_offset: int) -> bool:
    offset = log.start.offset
    while offset < committed_offset:
        data = log.read(offset, 1 << 20)
        for position, header in iter_headers(data):
            if any(b"observed" in (record.value or b"") for record in decode_batch(data, position)):
                return True
            offset = header.next_offset
    return False


def _ask(connection: socket.socket, request: Request) -> bytes:
    """One request and its answer; both headers are flexible."""
    api = api_of(request)
    header = struct.pack(">hhih", api, VERSIONS[api], 7, -1) + b"\x00"
    body = header + encode_request(request, CLUSTER_ID)
    connection.sendall(struct.pack(">i", len(body)) + body)
    (size,) = struct.unpack(">i", _receive(connection, 4))
    answer = _receive(connection, size)
    assert answer[:5] == struct.pack(">ib", 7, 0)
    return answer[5:]


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        assert piece, "the controller hung up"
        data += piece
    return data
