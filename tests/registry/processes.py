"""A registry as a process of its own, to be killed: what `penstock registry` is on a user's machine."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from types import TracebackType
from typing import Self

READY_S = 30.0


class RegistryProcess:
    """It keeps its port when it is started again, so that clients find it."""

    def __init__(self, bootstrap_servers: str, *settings: str) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._settings = settings
        self._listen = "127.0.0.1:0"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://{self._listen}"

    @property
    def rss_mb(self) -> float:
        assert self._process is not None
        with open(f"/proc/{self._process.pid}/status") as status:
            line = next(line for line in status if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def start(self) -> Self:
        command = [
            sys.executable,
            "-m",
            "penstock",
            "registry",
            "--listen",
            self._listen,
            "--log-level",
            "warning",
        ]
        command += ["--bootstrap-servers", self._bootstrap_servers]
        for setting in self._settings:
            command += ["--set", setting]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self._listen = self._await_ready(self._process)
        return self

    def kill(self) -> None:
        """kill -9."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        return self._end(signal.SIGTERM)

    def _end(self, number: int) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        process.send_signal(number)
        code = process.wait(READY_S)
        assert process.stdout is not None
        process.stdout.close()
        return code

    def _await_ready(self, process: subprocess.Popen[bytes]) -> str:
        assert process.stdout is not None
        output = select.poll()
        output.register(process.stdout, select.POLLIN)
        end = time.monotonic() + READY_S
        while output.poll(max(0.0, end - time.monotonic()) * 1000):
            line = os.read(process.stdout.fileno(), 4096).decode()
            if line.startswith("ready "):
                return line.split()[1]
            if not line:
                break
        self.kill()
        raise RuntimeError("the registry did not become ready")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._end(signal.SIGKILL)
