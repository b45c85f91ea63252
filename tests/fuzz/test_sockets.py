"""Mutated frames on real sockets against a real broker process: it lives, stays small, serves others, and
logs no surprise."""

from __future__ import annotations

import socket
import time
from functools import partial
from pathlib import Path

import pytest

from penstock.protocol.apis import Api
from penstock.testing.process import BrokerProcess
from tests.fuzz.senders import HEALTHY_SECONDS, SETTINGS, SURPRISE, Sender, run_senders
from tests.server.wire_bytes import ask

SHORT_SECONDS = 4.0
LONG_SECONDS = 20 * 60.0
SENDERS = 4


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
        connect = partial(socket.create_connection, address, 10)
        senders = [Sender(connect, seed * 1000 + index, end) for index in range(SENDERS)]
        seen = run_senders(senders, end, broker.pid, partial(served_in, address))
        assert broker.stop() == 0
    out, err = capfd.readouterr()
    assert SURPRISE not in out + err, (out + err)[-4000:]
    print(seen)


def prepare(address: tuple[str, int]) -> None:
    with socket.create_connection(address, timeout=10) as sock:
        create_topics(sock)


def create_topics(sock: socket.socket) -> None:
    wish = {"num_partitions": 2, "replication_factor": 1, "assignments": (), "configs": ()}
    topics = [{**wish, "name": name} for name in ("t", "u")]
    ask(sock, Api.CREATE_TOPICS, 7, topics=topics, timeout=1000, validate_only=False)


def served_in(address: tuple[str, int]) -> float:
    """How long a healthy client waits for an answer."""
    began = time.monotonic()
    with socket.create_connection(address, timeout=HEALTHY_SECONDS) as sock:
        sock.settimeout(HEALTHY_SECONDS)
        ask(sock, Api.API_VERSIONS, 0)
    return time.monotonic() - began
