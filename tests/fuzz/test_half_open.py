"""Clients that begin a TLS handshake or a SASL exchange and never end it: they delay nobody, and are cut
off."""

from __future__ import annotations

import itertools
import resource
import socket
import ssl
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from penstock.protocol.apis import Api
from penstock.server.connections import strangers
from penstock.testing import Broker
from penstock.testing.process import BrokerProcess
from tests.fuzz.senders import resident_kb
from tests.fuzz.test_after_proof import ADMIN, LOWLY, prepare, secured_settings
from tests.peers.apache_kafka import free_port
from tests.security.certificates import Authority
from tests.security.raw_login import logged_in
from tests.server.wire_bytes import ask

SHORT, LONG = 60, 2000
"""How many hold their connections at once: half in a handshake, half in a SASL exchange."""
SHORT_SECONDS, LONG_SECONDS = 0.5, 30.0
LARGEST_KB = 500_000
SECONDS = 60.0
HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"  # how a ClientHello begins
SLOW_FRAME = struct.pack(">ihhih", 1000, Api.SASL_AUTHENTICATE, 1, 1, -1)


class Crowd(threading.Thread):
    """Keeps `size` connections that get nowhere: each sends a byte now and then, and one that the broker has
    closed is made anew."""

    def __init__(self, address: tuple[str, int], context: ssl.SSLContext, size: int) -> None:
        super().__init__(daemon=True)
        self._address, self._context, self._size = address, context, size
        self._held: deque[tuple[socket.socket, bytes]] = deque()
        self._stopping = threading.Event()
        self.standing = threading.Event()
        self.opened = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._stopping.is_set():
                while len(self._held) < self._size:
                    self._held.append(self._open())
                self.standing.set()
                self._drip()
                self._stopping.wait(0.002)
        except BaseException as error:
            self.failure = error
        finally:
            self.standing.set()
            for sock, _ in self._held:
                sock.close()

    def finish(self) -> None:
        self._stopping.set()
        self.join(SECONDS)
        if self.failure is not None:
            raise self.failure

    def _open(self) -> tuple[socket.socket, bytes]:
        self.opened += 1
        plain = socket.create_connection(self._address, SECONDS)
        if self.opened % 2:
            return plain, HELLO
        sock = self._context.wrap_socket(plain, server_hostname="localhost")
        ask(sock, Api.SASL_HANDSHAKE, 1, mechanism="SCRAM-SHA-512")
        return sock, SLOW_FRAME

    def _drip(self) -> None:
        """The one that has rested longest sends its next byte."""
        sock, left = self._held.popleft()
        try:
            sock.sendall(left[:1])
        except OSError:
            sock.close()
        else:
            self._held.append((sock, left[1:] or b"\x00"))


def p99_ms(seconds: float, send: Callable[[], None]) -> float:
    """Of one request after the other."""
    found, end = [], time.monotonic() + seconds
    while time.monotonic() < end or len(found) < 100:
        began = time.perf_counter()
        send()
        found.append((time.perf_counter() - began) * 1000)
    return sorted(found)[int(len(found) * 0.99)]


@pytest.mark.timeout(600)
def test_half_open_handshakes_and_slow_exchanges_delay_nobody(tmp_path: Path, long_form: bool) -> None:
    """Without an assertion about times in the short form: the machine of a test is shared."""
    allow_many_files()
    authority, address = Authority(tmp_path), ("127.0.0.1", free_port())
    context = ssl.create_default_context(cafile=str(authority.path))
    listen = f"{address[0]}:{address[1]}"
    seconds = LONG_SECONDS if long_form else SHORT_SECONDS
    with BrokerProcess(str(tmp_path / "data"), secured_settings(authority, listen), listen) as broker:
        prepare(address, context)
        with logged_in(address, context, LOWLY, SECONDS) as sock:

            def look() -> None:
                ask(sock, Api.METADATA, 4, topics=[{"name": "t"}], allow_auto_topic_creation=False)

            def come_in() -> None:
                logged_in(address, context, ADMIN, SECONDS).close()

            measured = [(p99_ms(seconds, look), p99_ms(seconds, come_in))]
            crowd = Crowd(address, context, LONG if long_form else SHORT)
            crowd.start()
            assert crowd.standing.wait(SECONDS * 3)
            measured.append((p99_ms(seconds, look), p99_ms(seconds, come_in)))
            largest_kb = resident_kb(broker.pid)
            crowd.finish()
        assert broker.stop() == 0
    assert largest_kb < LARGEST_KB
    (look_before, login_before), (look_then, login_then) = measured
    print(
        f"{crowd.opened} connections, {largest_kb // 1000} MB; p99 of a request {look_before:.2f} ms before, "
        f"{look_then:.2f} then; of TLS with login {login_before:.1f} and {login_then:.1f}"
    )
    if long_form:
        assert look_then < 2 * look_before
        assert login_then < 2 * login_before


def test_a_client_that_does_not_prove_itself_in_time_is_cut_off_however_slow_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strangers, "PROOF_SECONDS", 1.0)
    authority, address = Authority(tmp_path), ("127.0.0.1", free_port())
    context = ssl.create_default_context(cafile=str(authority.path))
    with (
        Broker(settings=secured_settings(authority, f"{address[0]}:{address[1]}")),
        logged_in(address, context, ADMIN) as known,
        context.wrap_socket(socket.create_connection(address, SECONDS), server_hostname="localhost") as sock,
    ):
        ask(sock, Api.SASL_HANDSHAKE, 1, mechanism="PLAIN")
        sock.settimeout(0.1)
        with suppress(ConnectionError, ssl.SSLError):
            for byte in itertools.chain(SLOW_FRAME, itertools.repeat(0, 600)):
                sock.sendall(bytes([byte]))
                with suppress(TimeoutError):
                    assert sock.recv(1) == b""
                    break
            else:
                pytest.fail("it may go on for ever")
        assert ask(known, Api.API_VERSIONS, 0).error_code == 0, "the other one has proved itself"


def allow_many_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
