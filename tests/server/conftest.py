"""A broker in process, and raw sockets to it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest

from penstock.testing import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(settings={"socket.request.max.bytes": "1000000"}) as running:
        yield running


@pytest.fixture
def connect(broker: Broker) -> Iterator[Callable[[], socket.socket]]:
    """Opens raw connections, each with a deadline."""
    opened: list[socket.socket] = []

    def open_one() -> socket.socket:
        host, port = broker.bootstrap_servers.rsplit(":", 1)
        sock = socket.create_connection((host, int(port)), timeout=10)
        opened.append(sock)
        return sock

    yield open_one
    for sock in opened:
        sock.close()
