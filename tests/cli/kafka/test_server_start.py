"""`kafka-server-start` runs a node with a file of properties."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from penstock.cli.kafka.server_start import USAGE, server_start
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
    assert side.ours(server_start, "-daemon", "server.properties").code == 1
