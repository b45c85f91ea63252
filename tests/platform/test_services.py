"""What the platform starts, and what it says of a port that is taken."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from penstock.platform.services import broker_service, check_port_free, console_service, script_service
from penstock.platform.supervisor import ServiceFailed


def test_a_port_in_use_is_named_with_its_option() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            ServiceFailed, match=f"Port {port} of 127.0.0.1 is in use.*--console-listen HOST:PORT"
        ):
            check_port_free(("127.0.0.1", port), "--console-listen")
    check_port_free(("127.0.0.1", 0), "--listen")


def test_an_address_that_this_machine_does_not_have_is_named() -> None:
    with pytest.raises(ServiceFailed, match=r"Cannot listen on 192\.0\.2\.1:9092"):
        check_port_free(("192.0.2.1", 9092), "--listen")


def test_each_service_gets_its_own_place_and_the_brokers_address() -> None:
    data = Path("data")
    broker = broker_service(("::1", 9092), data, "server.properties", {"num.partitions": "2"})
    assert broker.arguments[3:] == (
        *("--listen", "[::1]:9092", "--data", str(data / "broker")),
        *("--config", "server.properties", "--set", "num.partitions=2"),
    )
    console = console_service(("127.0.0.1", 9021), "127.0.0.1:9092")
    assert console.shown("127.0.0.1:9021") == "http://127.0.0.1:9021"
    assert console.shown("http://127.0.0.1:9021") == "http://127.0.0.1:9021"
    script = script_service(Path("examples/word_count.py"), "127.0.0.1:9092", data)
    assert script.name == "word_count"
    assert script.arguments[-1] == str(data / "word_count")
