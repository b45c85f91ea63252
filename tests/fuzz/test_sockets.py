"""Mutated frames on real sockets against a real broker process: it lives, stays small, serves others, and
logs no surprise."""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from penstock.protocol.apis import Api
from penstock.testing.process import BrokerProcess
from tests.fuzz.requests import RequestMaker, mutated, served_versions
from tests.server.wire_bytes import ask, framed, receive

SHORT_SECONDS = 4.0
LONG_SECONDS = 20 * 60.0
SENDERS = 4
LARGEST_KB = 400_000
HEALTHY_SECONDS = 5.0
SURPRISE = "a request could not be served"
SETTINGS = {
    "socket.request.max.bytes": "200000",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "2",
    "max.request.partition.size.limit": "100",
}


class Sender:
    """One thread: connects, sends what it should not, reads what comes back for a moment."""

    def __init__(self, address: tuple[str, int], seed: int, end: float) -> None:
        self._address = address
        self._random = Random(seed)
        self._end = end
        self.sent = 0
        self.failure: BaseException | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            while time.monotonic() < self._end:
                self._round()
        except BaseException as error:
            self.failure = error

    def _round(self) -> None:
        maker = RequestMaker(self._random)
        versions = list(served_versions())
        self._random.shuffle(versions)
        for api, version in versions:
            if time.monotonic() > self._end:
                return
            frame, other = maker.frame(api, version), maker.frame(api, version)
            self._send([self._broken(mutated(self._random, frame, other)) for _ in range(4)])

    def _broken(self, frame: bytes) -> bytes:
        """Now and then the length lies, or the bytes stop in the middle."""
        choice = self._random.random()
        if choice < 0.05:
            claimed = self._random.choice([-1, 0, 2**31 - 1, 200_000, len(frame) + 9, len(frame) // 2])
            return struct.pack(">i", claimed) + frame
        data = framed(frame)
        return data[: self._random.randrange(len(data))] if choice < 0.1 else data

    def _send(self, frames: list[bytes]) -> None:
        with socket.create_connection(self._address, timeout=10) as sock:
            sock.settimeout(0.02)
            for data in frames:
                with suppress(OSError):
                    sock.sendall(data)
                    self._read_answer(sock)
                self.sent += 1

    def _read_answer(self, sock: socket.socket) -> None:
        (size,) = struct.unpack(">i", receive(sock, 4))
        assert 0 <= size < 10_000_000, f"an answer of {size} bytes"
        receive(sock, size)


@pytest.mark.claim("S1")
@pytest.mark.timeout(LONG_SECONDS + 300)
def test_mutated_frames_do_no_harm(
    tmp_path: Path, seed: int, long_form: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    duration = LONG_SECONDS if long_form else SHORT_SECONDS
    with BrokerProcess(str(tmp_path / "data"), SETTINGS) as broker:
        host, port = broker.bootstrap_servers.rsplit(":", 1)
        address = (host, int(port))
        prepare(address)
        end = time.monotonic() + duration
        senders = [Sender(address, seed * 1000 + index, end) for index in range(SENDERS)]
        for sender in senders:
            sender.thread.start()
        slowest = 0.0
        while time.monotonic() < end:
            slowest = max(slowest, served_in(address))
            assert resident_kb(broker.pid) < LARGEST_KB
            senders[0].thread.join(0.2)
        for sender in senders:
            sender.thread.join(30)
        assert [sender.failure for sender in senders if sender.failure] == []
        assert slowest < HEALTHY_SECONDS
        sent = sum(sender.sent for sender in senders)
        assert broker.stop() == 0
    out, err = capfd.readouterr()
    assert SURPRISE not in out + err, (out + err)[-4000:]
    print(f"{sent} frames, a healthy client waited {slowest:.3f} s at most")


def prepare(address: tuple[str, int]) -> None:
    wish = {"num_partitions": 2, "replication_factor": 1, "assignments": (), "configs": ()}
    with socket.create_connection(address, timeout=10) as sock:
        topics = [{**wish, "name": name} for name in ("t", "u")]
        ask(sock, Api.CREATE_TOPICS, 7, topics=topics, timeout=1000, validate_only=False)


def served_in(address: tuple[str, int]) -> float:
    """How long a healthy client waits for an answer."""
    began = time.monotonic()
    with socket.create_connection(address, timeout=HEALTHY_SECONDS) as sock:
        sock.settimeout(HEALTHY_SECONDS)
        ask(sock, Api.API_VERSIONS, 0)
    return time.monotonic() - began


def resident_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0
