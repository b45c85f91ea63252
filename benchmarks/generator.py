"""The load generator as Python sees it: compiled when it is needed, given a plan, asked what it measured."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.plan import Plan

COMPILE_SECONDS: Final = 60
GRACE_SECONDS: Final = 60.0
_SOURCES: Final = Path(__file__).parent


class NoCompiler(Exception):
    """There is no `cc` here; the message says so."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Quantiles of `count` measurements; they are 0 when there were none."""

    count: int
    p50_ms: float
    p99_ms: float
    p999_ms: float
    max_ms: float


class Group(NamedTuple):
    """What the connections of one group did within the window."""

    requests: int
    records: int
    bytes: int
    answered: Latency
    """From the time at which a batch was due to its acknowledgement."""
    consumed: Latency
    """From the time at which a batch was due to the end of the fetch that brought it."""


class Outcome(NamedTuple):
    seconds: float
    broker_cpu_seconds: float
    own_cpu_seconds: float
    groups: list[Group]
    answered: list[int]
    """Requests of each connection, warm-up and the end included."""

    @property
    def megabytes_per_second(self) -> float:
        return sum(group.bytes for group in self.groups) / self.seconds / 1e6

    @property
    def records_per_second(self) -> float:
        return sum(group.records for group in self.groups) / self.seconds

    @property
    def cpu_seconds_per_gigabyte(self) -> float:
        return self.broker_cpu_seconds / (sum(group.bytes for group in self.groups) / 1e9)

    @property
    def generator_busy(self) -> float:
        """The share of one core that the generator itself took."""
        return self.own_cpu_seconds / self.seconds


class Generator:
    """`load.c`, compiled into `work`."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._load = compiled("load.c", work)

    @cached_property
    def _load_tls(self) -> Path:
        """The same with OpenSSL, whose headers must be installed (Debian's libssl-dev)."""
        return compiled("load.c", self._work, "load-tls", "-DWITH_TLS", "-lssl", "-lcrypto")

    def run(
        self,
        plan: Plan,
        address: str,
        *,
        pid: int = 0,
        warm_ms: int,
        run_ms: int,
        max_bytes: int,
        authority: Path | None = None,
    ) -> Outcome:
        """Do what the plan says. `max_bytes` bounds what is written or read, warm-up included. With an
        `authority` the connections are TLS, and its certificates are believed."""
        frames = self._work / "frames"
        frames.write_bytes(plan.frames)
        host, _, port = address.rpartition(":")
        lines = [
            f"broker {host} {port} {pid}",
            f"frames {frames}",
            f"time {warm_ms} {run_ms} {max_bytes}",
            *([] if authority is None else [f"tls {authority}"]),
            *plan.lines,
        ]
        done = subprocess.run(
            [str(self._load if authority is None else self._load_tls)],
            input="\n".join(lines) + "\n",
            capture_output=True,
            text=True,
            timeout=(warm_ms + run_ms) / 1000 + GRACE_SECONDS,
        )
        if done.returncode:
            raise RuntimeError(f"the load generator gave up: {done.stderr.strip()}")
        return _outcome(json.loads(done.stdout))


def compiled(source: str, work: Path, name: str = "", *options: str) -> Path:
    """The program made of a source file beside this one."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise NoCompiler(
            "The load generator is written in C, and there is no `cc` on the PATH to compile it."
        )
    program = work / (name or Path(source).stem)
    command = [compiler, "-O2", "-pthread", "-o", str(program), str(_SOURCES / source), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS)
    if done.returncode:
        raise NoCompiler(f"{source} cannot be compiled: {done.stderr.strip()[:500]}")
    return program


def _outcome(data: dict[str, Any]) -> Outcome:
    groups = [
        Group(
            group["requests"],
            group["records"],
            group["bytes"],
            Latency(**group["answered"]),
            Latency(**group["consumed"]),
        )
        for group in data["groups"]
    ]
    return Outcome(
        data["seconds"], data["broker_cpu_seconds"], data["own_cpu_seconds"], groups, data["answered"]
    )
