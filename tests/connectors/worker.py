"""A worker as a process: started, asked over HTTP, killed, started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

READY_S = 60.0
PATIENCE_S = 150.0


class Worker:
    def __init__(self, servers: str, allowed: str, **settings: str) -> None:
        self.servers = servers
        defaults = {
            "penstock.allowed.paths": allowed,
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "session.timeout.ms": "1500",
            "offset.storage.partitions": "3",
            "spark.ui.enabled": "false",
        }
        self._settings = {**defaults, **{name.replace("_", "."): value for name, value in settings.items()}}
        self.process: subprocess.Popen[str] | None = None
        self.url = ""
        self.lines: list[str] = []

    def start(self, *arguments: str) -> Worker:
        command = [sys.executable, "-m", "penstock", "connect", "--listen", "127.0.0.1:0"]
        command += ["--bootstrap-servers", self.servers]
        for name, value in self._settings.items():
            command += ["--set", f"{name}={value}"]
        return self.launch(command)

    def launch(self, command: list[str]) -> Worker:
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        assert self.process.stdout is not None
        threading.Thread(target=self._gather, args=(self.process.stderr,), daemon=True).start()
        line = self.process.stdout.readline()
        assert line.startswith("ready "), (line, "".join(self.lines)[-3000:])
        threading.Thread(target=self._gather, args=(self.process.stdout,), daemon=True).start()
        self.url = "http://" + line.split()[1]
        return self

    def _gather(self, stream: Any) -> None:
        for line in stream:
            self.lines.append(line)

    def kill(self) -> None:
        """kill -9 of the worker with its JVM and all Python workers of Spark."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)

    def kill_driver_only(self) -> None:
        """kill -9 of the Python process alone: its JVM and its tasks learn it a moment later."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(30)

    def stop(self) -> int:
        assert self.process is not None
        self.process.terminate()
        try:
            return self.process.wait(60)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                return answer.status, _parsed(answer.read())
        except urllib.error.HTTPError as refused:
            return refused.code, _parsed(refused.read())

    def text(self, path: str) -> str:
        with urllib.request.urlopen(self.url + path, timeout=90) as answer:
            return str(answer.read().decode())

    def create(self, name: str, config: Mapping[str, str]) -> None:
        status, body = self.call("PUT", f"/connectors/{name}/config", dict(config))
        assert status in (200, 201), body

    def await_state(self, name: str, state: str) -> Any:
        def reached() -> Any:
            status, body = self.call("GET", f"/connectors/{name}/status")
            states = (
                [body["connector"]["state"], *(each["state"] for each in body["tasks"])]
                if status == 200
                else []
            )
            return body if states and set(states) == {state} else None

        return eventually(reached, f"{name} is {state}")


def eventually(condition: Callable[[], Any], what: str, seconds: float = PATIENCE_S) -> Any:
    """What the condition returns once that counts as true."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.1)
    return found


def _parsed(data: bytes) -> Any:
    return json.loads(data) if data else None
