"""What strangers can make a broker process hold, before anybody has been asked who they are."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.protocol import messages
from penstock.protocol.apis import Api
from penstock.records.codecs import Codec
from penstock.records.record import Record, encode_batch
from penstock.server.connections.server import bind_all, close_all
from penstock.settings import BrokerSettings
from penstock.testing.process import BrokerProcess
from tests.server.test_hostile_input import framed, receive

MB = 1_000_000
SECONDS = 60.0
SETTINGS = {"num.partitions": "20"}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(str(tmp_path), SETTINGS) as running:
        yield running


def connect(broker: BrokerProcess) -> socket.socket:
    host, port = broker.bootstrap_servers.split(":")
    sock = socket.create_connection((host, int(port)))
    sock.settimeout(SECONDS)
    return sock


def resident_mb(broker: BrokerProcess) -> int:
    return int(Path(f"/proc/{broker.pid}/statm").read_text().split()[1]) * 4096 // MB


def ask(sock: socket.socket, api: Api, version: int, **fields: object) -> bytes:
    head = struct.pack(">hhih", api, version, 1, -1)
    sock.sendall(framed(head + messages.encode_request(api, version, fields)))
    (size,) = struct.unpack(">i", receive(sock, 4))
    return receive(sock, size)[4:]


def wait_below(broker: BrokerProcess, limit_mb: int) -> None:
    deadline = time.monotonic() + SECONDS
    while resident_mb(broker) >= limit_mb:
        assert time.monotonic() < deadline, f"{resident_mb(broker)} MB stay"
        time.sleep(0.05)


def test_half_frames_cost_what_has_arrived_and_all_of_it_is_given_back(broker: BrokerProcess) -> None:
    before = resident_mb(broker)
    socks = [connect(broker) for _ in range(8)]
    for sock in socks:
        sock.sendall(struct.pack(">i", 40 * MB) + bytes(20 * MB))
    assert resident_mb(broker) - before < 180
    for sock in socks:
        sock.close()
    wait_below(broker, before + 20)


def test_a_connection_that_idles_holds_nothing_of_its_last_request(broker: BrokerProcess) -> None:
    before = resident_mb(broker)
    socks = [connect(broker) for _ in range(10)]
    for sock in socks:
        sock.sendall(framed(struct.pack(">hhih", Api.API_VERSIONS, 0, 1, -1) + bytes(30 * MB)))
        (size,) = struct.unpack(">i", receive(sock, 4))
        receive(sock, size)
    wait_below(broker, before + 60)
    for sock in socks:
        sock.close()


def test_producers_of_more_than_the_bound_are_served_without_a_broken_connection(tmp_path: Path) -> None:
    settings = {"queued.max.request.bytes": "2000000", "socket.request.max.bytes": "2000000"}
    with BrokerProcess(str(tmp_path), settings) as broker:
        done: list[int] = []

        def send(rounds: int) -> None:
            with connect(broker) as sock:
                for _ in range(rounds):
                    sock.sendall(framed(struct.pack(">hhih", Api.API_VERSIONS, 0, 1, -1) + bytes(MB)))
                    (size,) = struct.unpack(">i", receive(sock, 4))
                    receive(sock, size)
                    done.append(size)

        threads = [threading.Thread(target=send, args=(20,)) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        assert len(done) == 16 * 20


def test_batches_that_unpack_to_much_more_take_turns(broker: BrokerProcess) -> None:
    with connect(broker) as sock:
        ask(sock, Api.METADATA, 4, topics=[{"name": "t"}], allow_auto_topic_creation=True)
    before, peak = resident_mb(broker), 0
    record = Record(None, bytes(30 * MB), timestamp_ms=int(time.time() * 1000))
    batch = bytes(encode_batch([record], codec=Codec.GZIP))

    def produce(index: int) -> None:
        data = [{"name": "t", "partition_data": [{"index": index, "records": batch}]}]
        with connect(broker) as sock:
            ask(sock, Api.PRODUCE, 7, transactional_id=None, acks=1, timeout=1000, topic_data=data)

    threads = [threading.Thread(target=produce, args=(index,)) for index in range(20)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        peak = max(peak, resident_mb(broker))
        time.sleep(0.005)
    assert peak - before < 150, "one of 30 MB, four of 4 MB, and what the threads need"
    wait_below(broker, before + 80)


def test_many_connections_may_come_at_once() -> None:
    settings = BrokerSettings.load(None, {"listeners": "PLAINTEXT://127.0.0.1:0"}, {})
    bound = bind_all(settings.client_listeners, settings)
    address = bound[0][1].getsockname()
    try:
        # Nobody accepts. One that finds no place tries again after a second, which is too late here.
        allowed = int(Path("/proc/sys/net/core/somaxconn").read_text())
        socks = [socket.create_connection(address, timeout=0.9) for _ in range(min(1000, allowed))]
        for sock in socks:
            sock.close()
    finally:
        close_all(bound)
