"""Bytes that are no requests: they cost their sender the connection, and nobody else anything."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from penstock.handlers.table import HANDLERS
from penstock.protocol import messages
from penstock.protocol.apis import Api

API_VERSIONS = struct.pack(">hhih", Api.API_VERSIONS, 0, 1, -1)

Connect = Callable[[], socket.socket]


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def receive(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (chunk := sock.recv(size - len(data))):
        data += chunk
    return data


def is_closed(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


def is_served(sock: socket.socket) -> bool:
    sock.sendall(framed(API_VERSIONS))
    (size,) = struct.unpack(">i", receive(sock, 4))
    return receive(sock, size)[:6] == struct.pack(">ih", 1, 0)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">i", -1),
        struct.pack(">i", 2**31 - 1),
        struct.pack(">i", 1_000_001),
        framed(b""),
        framed(b"\x00"),
        framed(struct.pack(">hhih", 999, 0, 1, -1)),
        framed(struct.pack(">hhih", Api.METADATA, 99, 1, -1)),
        framed(struct.pack(">hhih", Api.METADATA, -1, 1, -1)),
        framed(struct.pack(">hhih", Api.METADATA, 1, 1, 32_000)),
        framed(struct.pack(">hhihi", Api.METADATA, 1, 1, -1, 2**31 - 1)),
        framed(struct.pack(">hhihi", Api.PRODUCE, 2, 1, -1, 0)),
        framed(struct.pack(">hhih", Api.CREATE_TOPICS, 7, 1, -1) + b"\x00\xff\xff\xff\xff\x07"),
        framed(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_a_malformed_frame_closes_its_own_connection_only(connect: Connect, data: bytes) -> None:
    neighbour, sender = connect(), connect()
    assert is_served(neighbour)
    sender.sendall(data)
    with suppress(OSError):  # the broker may have been faster
        sender.shutdown(socket.SHUT_WR)
    assert is_closed(sender)
    assert is_served(neighbour)


def test_an_unknown_version_of_api_versions_is_answered_with_35_in_the_oldest_layout(
    connect: Connect,
) -> None:
    sock = connect()
    sock.sendall(framed(struct.pack(">hhih", Api.API_VERSIONS, 77, 5, -1)))
    (size,) = struct.unpack(">i", receive(sock, 4))
    body = receive(sock, size)
    assert struct.unpack_from(">ihi", body) == (5, 35, len(HANDLERS))
    assert is_served(sock)


def test_a_claimed_length_takes_no_memory_until_bytes_arrive(connect: Connect) -> None:
    before = resident_bytes()
    socks = [connect() for _ in range(100)]
    for sock in socks:
        sock.sendall(struct.pack(">i", 1_000_000) + b"x")
    assert is_served(connect())
    assert resident_bytes() - before < 30_000_000, "100 claims of a megabyte each must not be believed"


def test_requests_may_be_sent_byte_by_byte_and_many_at_once(connect: Connect) -> None:
    sock = connect()
    for byte in framed(API_VERSIONS):
        sock.sendall(bytes([byte]))
    (size,) = struct.unpack(">i", receive(sock, 4))
    receive(sock, size)
    sock.sendall(framed(API_VERSIONS) * 20)
    for _ in range(20):
        (size,) = struct.unpack(">i", receive(sock, 4))
        assert receive(sock, size)[:4] == struct.pack(">i", 1)


def test_random_bodies_of_every_api_and_version_do_no_harm(connect: Connect) -> None:
    random = Random(1)
    healthy = connect()
    for api, module in HANDLERS.items():
        for version in range(module.VERSIONS[0], module.VERSIONS[1] + 1):
            sock = connect()
            body = random.randbytes(random.randrange(200))
            sock.sendall(framed(struct.pack(">hhih", api, version, 1, -1) + body))
            with suppress(OSError):
                sock.shutdown(socket.SHUT_WR)
                while sock.recv(65536):
                    pass
            sock.close()
    assert is_served(healthy)


def test_a_producer_that_wants_no_answer_loses_its_connection_when_it_fails(connect: Connect) -> None:
    partitions = [{"index": 0, "records": b"no batch"}]
    topics = [{"name": "nowhere", "partition_data": partitions}]
    fields = {"transactional_id": None, "acks": 0, "timeout": 1000, "topic_data": topics}
    body = messages.encode_request(Api.PRODUCE, 7, fields)
    neighbour, sender = connect(), connect()
    sender.sendall(framed(struct.pack(">hhih", Api.PRODUCE, 7, 1, -1) + body))
    assert is_closed(sender)
    assert is_served(neighbour)
