"""`kafka-server-start` runs a node with a file of properties."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.cli.kafka.server_start import USAGE, server_start
from penstock.cli.kafka.server_stop import nodes_running, server_stop
from tests.cli.kafka.side_by_side import SideBySide

SCRIPT = "from penstock.cli.kafka.server_start import main; main()"


def test_a_node_starts_with_kafkas_properties_and_overrides(tmp_path: Path) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text(f"log.dirs={tmp_path / 'data'}\nlisteners=PLAINTEXT://127.0.0.1:1\n")
    override = ["--override", "listeners=PLAINTEXT://127.0.0.1:0"]
    command = [sys.executable, "-c", SCRIPT, str(properties), *override]
    node = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert node.stdout is not None
        assert node.stdout.readline().startswith("ready 127.0.0.1:")
        assert (tmp_path / "data" / "meta.properties").exists()
    finally:
        node.terminate()
        assert node.wait(30) == 0


def test_mistakes_are_refused(side: SideBySide) -> None:
    assert side.ours(server_start).complaint == USAGE
    said = side.ours(server_start, "server.properties", "--nothing")
    assert (said.code, said.complaint) == (1, "Found non argument parameters: --nothing")
    assert side.ours(server_start, "-daemon").complaint == USAGE
    assert side.ours(server_stop, "--everything").code == 1


def test_a_node_in_the_background_is_found_by_its_id_and_stopped(
    side: SideBySide, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only ever with the id of this test: other nodes of this user may run on the machine."""
    node_id = random.randrange(10_000, 2**30)
    properties = tmp_path / "server.properties"
    settings = f"node.id={node_id}\nlog.dirs={tmp_path / 'data'}\nlisteners=PLAINTEXT://127.0.0.1:0\n"
    properties.write_text(settings)
    monkeypatch.setenv("LOG_DIR", str(tmp_path / "logs"))
    assert side.ours(server_start, "-daemon", str(properties)).code == 0
    log = tmp_path / "logs" / "kafkaServer.out"
    wait_until(lambda: "ready 127.0.0.1:" in log.read_text())
    assert [node.config for node in nodes_running() if node.config == properties] == [properties]
    assert side.ours(server_stop, f"--node-id={node_id}").code == 0
    wait_until(lambda: properties not in [node.config for node in nodes_running()])


def test_no_node_is_said_as_kafka_says_it(tmp_path: Path) -> None:
    assert list(nodes_running(tmp_path)) == []


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
