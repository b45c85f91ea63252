"""The console as a process: it says when it is ready, answers, and ends cleanly."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import pytest

from penstock.console.app import address, bind

START_S = 30
CODE = "from penstock.console.app import run; run('127.0.0.1', 0, '127.0.0.1:1')"


@pytest.fixture(scope="module")
def console() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A console whose broker is not there, on a port of its own."""
    process = subprocess.Popen([sys.executable, "-c", CODE], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline().strip()  # the test's own deadline ends a wait without end
    try:
        yield process, line
    finally:
        process.kill()
        process.wait(timeout=START_S)


def test_it_says_where_it_is_ready_and_ends_cleanly_on_sigterm(
    console: tuple[subprocess.Popen[str], str],
) -> None:
    process, line = console
    assert line.startswith("ready http://127.0.0.1:")
    with urllib.request.urlopen(line.split()[1] + "/", timeout=START_S) as answer:
        assert answer.status == 200
        assert "Penstock" in answer.read().decode()
    with urllib.request.urlopen(line.split()[1] + "/metrics", timeout=START_S) as answer:
        assert "penstock_http_requests_in_flight 1" in answer.read().decode()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=START_S) == 0


def test_a_port_in_use_is_refused_with_its_address_and_what_to_do() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}.*choose another with --listen"):
            bind("127.0.0.1", port)


def test_an_ipv6_address_is_written_in_brackets() -> None:
    assert address("::1", 9021) == "[::1]:9021"
    assert address("127.0.0.1", 9021) == "127.0.0.1:9021"
