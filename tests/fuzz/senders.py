"""Threads that send mutated frames to a broker process, and what is watched meanwhile."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.fuzz.requests import RequestMaker, mutated, served_versions
from tests.server.wire_bytes import framed, receive

SURPRISE = "a request could not be served"
LARGEST_KB = 400_000
HEALTHY_SECONDS = 5.0
PATIENCE_SECONDS = 0.02
LARGEST_FRAME = 200_000
SETTINGS = {
    "socket.request.max.bytes": str(LARGEST_FRAME),
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "2",
    "max.request.partition.size.limit": "100",
}
Connect = Callable[[], socket.socket]


class Sender:
    """One thread: connects, sends what it should not, reads what comes back for a moment."""

    def __init__(self, connect: Connect, seed: int, end: float) -> None:
        self._connect = connect
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
            claimed = self._random.choice([-1, 0, 2**31 - 1, LARGEST_FRAME, len(frame) + 9, len(frame) // 2])
            return struct.pack(">i", claimed) + frame
        data = framed(frame)
        return data[: self._random.randrange(len(data))] if choice < 0.1 else data

    def _send(self, frames: list[bytes]) -> None:
        with self._connect() as sock:
            sock.settimeout(PATIENCE_SECONDS)
            for data in frames:
                with suppress(OSError):
                    sock.sendall(data)
                    self._read_answer(sock)
                self.sent += 1

    def _read_answer(self, sock: socket.socket) -> None:
        (size,) = struct.unpack(">i", receive(sock, 4))
        assert 0 <= size < 10_000_000, f"an answer of {size} bytes"
        receive(sock, size)


def run_senders(senders: list[Sender], end: float, pid: int, served_in: Callable[[], float]) -> str:
    """Until `end`: the broker stays small, and a healthy client is served meanwhile. Returns what was
    seen."""
    for sender in senders:
        sender.thread.start()
    slowest, largest_kb = 0.0, 0
    while time.monotonic() < end:
        slowest = max(slowest, served_in())
        largest_kb = max(largest_kb, resident_kb(pid))
        assert largest_kb < LARGEST_KB
        senders[0].thread.join(0.2)
    for sender in senders:
        sender.thread.join(30)
    assert [sender.failure for sender in senders if sender.failure] == []
    assert slowest < HEALTHY_SECONDS
    sent = sum(sender.sent for sender in senders)
    return f"{sent} frames, a healthy client waited {slowest:.3f} s at most, {largest_kb // 1000} MB at most"


def resident_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0
