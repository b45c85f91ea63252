"""Runs the command line inside the test or as a process of its own, and gives back all that it said."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
from dataclasses import dataclass

import pytest

from penstock.cli.main import run

DEADLINE_S = 30


@dataclass(frozen=True)
class Said:
    """Exit code and output of one command."""

    code: int
    out: str
    err: str


class CommandLine:
    """`penstock …` inside the test, against one broker."""

    def __init__(
        self, bootstrap_servers: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.bootstrap_servers = bootstrap_servers
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Said:
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self._capsys.readouterr()
        code = run([*arguments, "--bootstrap-servers", self.bootstrap_servers])
        said = self._capsys.readouterr()
        return Said(code, said.out, said.err)


def penstock(*arguments: str, stdin: bytes = b"", environment: dict[str, str] | None = None) -> Said:
    """`penstock …` as a process that ends by itself."""
    done = subprocess.run(
        command(*arguments),
        input=stdin,
        capture_output=True,
        timeout=DEADLINE_S,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "penstock", *arguments]


def closed_port() -> int:
    """A port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
