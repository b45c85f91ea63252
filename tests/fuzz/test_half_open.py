"""Clients that begin a TLS handshake or a SASL exchange and never end it: they delay nobody, and are cut
off."""

from __future__ import annotations

import itertools
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from penstock.protocol.apis import Api
from penstock.server.connections import strangers
from penstock.testing import Broker
from penstock.testing.process import BrokerProcess
from tests.fuzz.crowd import SLOW_FRAME
from tests.fuzz.senders import resident_kb
from tests.fuzz.test_after_proof import ADMIN, LOWLY, prepare, secured_settings
from tests.peers.apache_kafka import free_port
from tests.security.certificates import Authority
from tests.security.raw_login import logged_in
from tests.server.wire_bytes import ask

SHORT, LONG = 60, 2000
"""How many hold their connections at once: half in a handshake, half in a SASL exchange."""
SHORT_SECONDS, LONG_SECONDS = 0.3, 20.0
FEWEST = 20  # requests that are measured
LARGEST_KB = 500_000
SECONDS = 60.0


def p99_ms(seconds: float, send: Callable[[], None]) -> float:
    """Of one request after the other."""
    found, end = [], time.monotonic() + seconds
    while time.monotonic() < end or len(found) < FEWEST:
        began = time.perf_counter()
        send()
        found.append((time.perf_counter() - began) * 1000)
    return sorted(found)[int(len(found) * 0.99)]


@pytest.mark.timeout(600)
def test_half_open_handshakes_and_slow_exchanges_delay_nobody(tmp_path: Path, long_form: bool) -> None:
    """Without an assertion about times in the short form: the machine of a test is shared."""
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

            def measured() -> tuple[float, float]:
                return p99_ms(seconds, look), p99_ms(seconds, come_in)

            before = measured()
            command = [sys.executable, "-m", "tests.fuzz.crowd", address[0], str(address[1])]
            command += [str(authority.path), str(LONG if long_form else SHORT)]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as crowd:
                assert crowd.stdout is not None
                assert crowd.stdout.readline().strip() == "standing"
                then = measured()
                largest_kb = resident_kb(broker.pid)
                opened, _ = crowd.communicate("", SECONDS)
            after = measured()
        assert broker.stop() == 0
    assert crowd.returncode == 0
    assert largest_kb < LARGEST_KB
    print(f"{opened.strip()} connections, {largest_kb // 1000} MB; p99 before, then and after")
    for what, index in (("of a request", 0), ("of TLS with login", 1)):
        print(f"{what}: {before[index]:.2f}, {then[index]:.2f}, {after[index]:.2f} ms")
        if long_form:
            assert then[index] < 2 * before[index], what


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
