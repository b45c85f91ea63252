"""How far a flow is, asked of both clusters while no mirror runs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.cli.main import run
from penstock.testing import Broker


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker() as broker:
        yield broker.bootstrap_servers


def config(servers: str, source: str, path: Path) -> str:
    """Of a flow that nobody runs."""
    path.write_text(
        f"clusters = A, B\nA.bootstrap.servers = {source}\nB.bootstrap.servers = {servers}\n"
        "A->B.enabled = true\ntopics = waiting\nA.default.api.timeout.ms = 1000\n"
    )
    return str(path)


def test_lag_is_shown_in_records_and_seconds(
    servers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic("waiting", 2, 1)])["waiting"].result(30)
    producer = Producer({"bootstrap.servers": servers})
    now_ms = int(time.time() * 1000)
    for age in (120, 60, 5):
        producer.produce("waiting", b"x", partition=1, timestamp=now_ms - age * 1000)
    assert producer.flush(30) == 0
    words = ["mirror", "status", "--config", config(servers, servers, tmp_path / "mm2.properties")]

    assert run([*words, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    empty, full = shown["partitions"]
    assert (empty["lag"], empty["lag_seconds"], empty["copied"]) == (0, 0, None)
    assert (full["lag"], full["end"], full["copied"]) == (3, 3, None)
    assert full["lag_seconds"] >= 120
    assert (shown["lag"], shown["lag_seconds"]) == (3, full["lag_seconds"])
    assert run(words) == 0
    assert "waiting\t0\t-\t0\t0\t0.0" in capsys.readouterr().out
