"""`penstock sql` as a process for tests, and the words of its clients."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import httpx

EARLIEST = {"auto.offset.reset": "earliest"}


class Server:
    """What tests ask of a server."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process, self.address = process, address
        self.url = f"http://{address}"
        self.client = httpx.Client(base_url=self.url, timeout=60)

    def ksql(self, text: str, status: int = 200, **properties: str) -> Any:
        """The answer to statements; names of properties have underscores for dots."""
        given = {name.replace("_", "."): value for name, value in properties.items()}
        answer = self.client.post("/ksql", json={"ksql": text, "streamsProperties": given})
        assert answer.status_code == status, answer.text
        return answer.json()

    def rows(self, text: str, **properties: str) -> list[Any]:
        """The rows of a query that ends. An empty line is the server's look whether its client is there."""
        given = {name.replace("_", "."): value for name, value in properties.items()}
        answer = self.client.post("/query-stream", json={"sql": text, "properties": given})
        assert answer.status_code == 200, answer.text
        return [json.loads(line) for line in answer.text.splitlines()[1:] if line]

    def wait_for_rows(
        self, text: str, enough: Callable[[list[Any]], bool], within_s: float = 90
    ) -> list[Any]:
        """Ask until the answer will do; a persistent query takes a moment."""
        deadline = time.monotonic() + within_s
        while not enough(rows := self.rows(text)):
            assert time.monotonic() < deadline, rows
            time.sleep(0.2)
        return rows


@contextmanager
def running_server(bootstrap_servers: str, *options: str, **settings: str) -> Iterator[Server]:
    """`settings` have underscores for dots."""
    server = start_server(bootstrap_servers, *options, **settings)
    try:
        yield server
    finally:
        server.client.close()
        server.process.terminate()
        assert server.process.wait(60) == 0


def start_server(bootstrap_servers: str, *options: str, **settings: str) -> Server:
    return launch(command_of(bootstrap_servers, options, settings))


def command_of(bootstrap_servers: str, options: Sequence[str], settings: Mapping[str, str]) -> list[str]:
    command = [sys.executable, "-m", "penstock", "sql", "--listen", "127.0.0.1:0"]
    command += ["--bootstrap-servers", bootstrap_servers, "--log-level", "warning", *options]
    for name, value in settings.items():
        command += ["--set", f"{name.replace('_', '.')}={value}"]
    return command


def launch(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Server:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    word, _, address = process.stdout.readline().strip().partition(" ")
    assert word == "ready"
    return Server(process, address)


def kill(server: Server) -> None:
    server.client.close()
    server.process.send_signal(signal.SIGKILL)
    server.process.wait(20)
