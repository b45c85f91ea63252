"""A client of a few lines, to see when a broker answers and to stay connected without doing anything."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from benchmarks.requests import metadata_frame, versions_frame

PATIENCE_SECONDS: Final = 120.0
_RETRY_SECONDS: Final = 0.002


def ask(address: str, frame: bytes, timeout: float = 5.0) -> bytes:
    """One request on a connection of its own."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=timeout) as connection:
        return _exchange(connection, frame)


def seconds_until_ready(start: Callable[[], None], address: str) -> float:
    """From the call of `start` until a Metadata request is answered with a broker in it."""
    begun = time.monotonic()
    answered: list[float] = []

    def probe() -> None:
        while time.monotonic() < begun + PATIENCE_SECONDS:
            try:
                brokers = struct.unpack_from(">i", ask(address, metadata_frame()), 4)[0]
            except OSError:
                brokers = 0
            if brokers > 0:
                answered.append(time.monotonic() - begun)
                return
            time.sleep(_RETRY_SECONDS)

    prober = threading.Thread(target=probe)
    prober.start()
    start()
    prober.join()
    if not answered:
        raise TimeoutError(f"no broker at {address} after {PATIENCE_SECONDS} s")
    return answered[0]


@contextmanager
def idle_connections(address: str, count: int) -> Iterator[None]:
    """Clients that said hello (ApiVersions) and are silent since."""
    host, _, port = address.rpartition(":")
    with ExitStack() as stack:
        for _ in range(count):
            connection = socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS)
            stack.enter_context(connection)
            _exchange(connection, versions_frame())
        yield


def _exchange(connection: socket.socket, frame: bytes) -> bytes:
    connection.sendall(frame)
    (size,) = struct.unpack(">i", _exactly(connection, 4))
    return _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = connection.recv(size, socket.MSG_WAITALL)
    if len(data) != size:
        raise ConnectionError("closed by the broker")
    return data
