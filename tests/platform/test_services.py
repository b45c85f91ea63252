"""What the platform starts, and what it says of a port that is taken."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from penstock.platform.services import (
    broker_service,
    check_port_free,
    console_service,
    metrics_address,
    script_service,
)
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


def test_the_console_is_told_where_the_services_and_the_metrics_are() -> None:
    urls = {"registry": "http://127.0.0.1:81", "sql": "http://127.0.0.1:88", "metrics": ""}
    console = console_service(("127.0.0.1", 9021), "127.0.0.1:9092", urls=urls)
    assert console.arguments[-4:] == (
        *("--registry-url", "http://127.0.0.1:81"),
        *("--sql-url", "http://127.0.0.1:88"),
    )


def test_metrics_are_published_to_this_machine_alone_unless_they_are_asked_for(tmp_path: Path) -> None:
    local, everywhere = ("127.0.0.1", 9092), ("0.0.0.0", 9092)
    assert metrics_address(local, {}, None, secure=False).startswith("127.0.0.1:")
    assert metrics_address(everywhere, {}, None, secure=False) == ""
    assert metrics_address(local, {}, None, secure=True) == ""
    asked = {"metrics.listener": "0.0.0.0:7071"}
    assert metrics_address(local, asked, None, secure=True) == "0.0.0.0:7071"
    file = tmp_path / "server.properties"
    file.write_text("metrics.listener=127.0.0.1:7071\n")
    assert metrics_address(local, {}, str(file), secure=False) == ""
