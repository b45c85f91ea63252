"""`penstock console`: what it refuses before it serves. That it serves is tested by `penstock up`."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from penstock.cli.main import run
from tests.cli.commands import penstock


def test_a_port_in_use_is_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = penstock("console", "--listen", f"127.0.0.1:{port}")
    assert said.code == 1
    assert f"cannot listen on 127.0.0.1:{port}" in said.err
    assert "--listen" in said.err
    assert said.err.count("\n") == 1


def test_a_broken_settings_file_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "client.properties"
    broken.write_text("a=\\u1")
    assert run(["console", "--config", str(broken)]) == 2
    assert "Cannot read the settings file" in capsys.readouterr().err
