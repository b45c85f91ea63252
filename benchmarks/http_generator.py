"""`http_load.c` as Python sees it: one HTTP request over and over on kept connections, and its answers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.generator import GRACE_SECONDS, compiled

NUMBER: Final = "#########"
"""Stands in a request for a number that is new each time."""


class Answered(NamedTuple):
    """What was answered within the window."""

    seconds: float
    requests: int
    failed: int
    marks: int
    """How often the mark stood in the answers."""
    p50_ms: float
    p99_ms: float
    own_cpu_seconds: float


class Service(NamedTuple):
    """A running service of Penstock."""

    address: str
    pid: int


class HttpGenerator:
    def __init__(self, work: Path) -> None:
        self._work = work
        self._program = compiled("http_load.c", work)

    def run(
        self, service: Service, request: bytes, connections: int, warm_ms: int, run_ms: int, mark: str = ""
    ) -> Answered:
        """RuntimeError when a request is refused."""
        file = self._work / "request"
        file.write_bytes(request)
        host, _, port = service.address.rpartition(":")
        command = [str(self._program), host, port, str(connections), str(warm_ms), str(run_ms), str(file)]
        within = (warm_ms + run_ms) / 1000 + GRACE_SECONDS
        done = subprocess.run([*command, mark], capture_output=True, text=True, timeout=within)
        if done.returncode:
            raise RuntimeError(f"the HTTP generator gave up: {done.stderr.strip()}")
        return Answered(**json.loads(done.stdout))


def http_request(method: str, path: str, content_type: str = "", body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: benchmark\r\n"
    if body:
        head += f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


@contextmanager
def service(name: str, bootstrap_servers: str, workers: int = 1, *settings: str) -> Iterator[Service]:
    """`penstock NAME` as a process; with several workers, as several."""
    command = [sys.executable, "-m", "penstock", name, "--listen", "127.0.0.1:0", "--log-level", "warning"]
    command += ["--bootstrap-servers", bootstrap_servers]
    command += ["--workers", str(workers)] if workers > 1 else []
    command += [part for setting in settings for part in ("--set", setting)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Service(process.stdout.readline().split()[1], process.pid)
    finally:
        process.terminate()
        process.wait(30)
