"""A broker as a process of its own, to be killed: what `penstock broker` is on a user's machine."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

READY_SECONDS: Final = 30.0
STOP_SECONDS: Final = 30.0


class BrokerProcess:
    """`penstock broker` on a directory. It keeps its port when it is started again, so that clients find
    it."""

    def __init__(
        self, data: str, settings: Mapping[str, str] | None = None, listen: str = "127.0.0.1:0"
    ) -> None:
        self._data = data
        self._settings = dict(settings or {})
        self._listen = listen
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        return self._listen

    @property
    def pid(self) -> int:
        assert self._process is not None, "the broker is not running"
        return self._process.pid

    def start(self) -> Self:
        command = [sys.executable, "-m", "penstock", "broker", "--listen", self._listen, "--data", self._data]
        for name, value in self._settings.items():
            command += ["--set", f"{name}={value}"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self._listen = self._await_ready()
        return self

    def kill(self) -> None:
        """kill -9: no goodbye, nothing flushed."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM: the clean shutdown. Gives the exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, number: int) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        process.send_signal(number)
        try:
            code = process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        if process.stdout is not None:
            process.stdout.close()
        return code

    def _await_ready(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        fd, seen = self._process.stdout.fileno(), b""
        output = select.poll()  # and not select(), which knows the first 1,024 descriptors only
        output.register(fd, select.POLLIN)
        end = time.monotonic() + READY_SECONDS
        while output.poll(max(0.0, end - time.monotonic()) * 1000):
            chunk = os.read(fd, 4096)
            seen += chunk
            for line in seen.decode(errors="replace").splitlines(keepends=True):
                if line.startswith("ready ") and line.endswith("\n"):
                    return line.split()[1]
            if not chunk:
                break
        self.kill()
        raise RuntimeError(f"the broker did not become ready; it said: {seen.decode(errors='replace')!r}")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._end(signal.SIGKILL if kind else signal.SIGTERM)
