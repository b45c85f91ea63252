"""Every method of Java's clients is here, under its name in snake_case."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import penstock.client
from tests.peers.apache_kafka import tool_jars

METHODS: dict[str, list[str]] = tomllib.loads((Path(__file__).parent / "java_methods.toml").read_text())
PACKAGES = {"Admin": "admin", "Producer": "producer", "Consumer": "consumer", "ShareConsumer": "consumer"}


def snake_case(name: str) -> str:
    return re.sub("([A-Z])", lambda found: f"_{found[1].lower()}", name)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_javas_client_is_there(name: str) -> None:
    client = getattr(penstock.client, name)
    missing = [each for each in METHODS[name] if not callable(getattr(client, snake_case(each), None))]
    assert not missing


@pytest.mark.parametrize("name", METHODS)
def test_the_list_is_javas(name: str, request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--apache"):
        return  # the list was compared when it was written
    (jar,) = Path(tool_jars()).glob("kafka-clients-*.jar")
    command = ["javap", "-cp", str(jar), f"org.apache.kafka.clients.{PACKAGES[name]}.{name}"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert sorted(set(re.findall(r"(\w+)\(", shown))) == METHODS[name]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_called_by_tests_that_run_against_both_brokers(name: str) -> None:
    """Those that take `bootstrap` do: Penstock's broker, and with --apache Apache Kafka's."""
    texts = [path.read_text() for path in sorted(Path(__file__).parent.glob("test_*.py"))]
    calls = "\n".join(text for text in texts if "bootstrap: str" in text)
    assert not [each for each in METHODS[name] if not re.search(rf"[.\"]{snake_case(each)}\b", calls)]
