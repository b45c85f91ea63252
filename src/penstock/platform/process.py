"""One service as a child process: how it is started, what it reports, how it is ended.

A child leads a process group of its own: Ctrl-C in a terminal reaches the supervisor alone, which then stops
the children in their order; and what a child leaves behind (Spark's JVM) can be ended with it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from penstock.platform.output import LINE_BYTES_MAX, Output

LEFTOVERS_S: Final = 5.0
"""How long what a child leaves behind may take to end by itself."""
_POLL_S: Final = 0.05
LISTEN: Final = "--listen"


@dataclass(frozen=True, slots=True)
class Service:
    """What to start, and how long it may take to be ready and to stop."""

    name: str
    arguments: tuple[str, ...]
    """What follows the interpreter on the command line."""
    ready_within_s: float
    stop_within_s: float
    may_finish: bool = False
    """True when ending by itself with success, after it was ready, is no failure."""
    shown: Callable[[str], str] = str
    """What `is [UP]` shows, from what the ready line said."""
    essential: bool = False
    """True when the platform cannot go on without it."""

    def at_address(self, ready_text: str) -> Service:
        """The same service at the address that its first ready line named: others know it by then, and
        `--listen HOST:0` would give another one.
        """
        if LISTEN not in self.arguments:
            return self
        at = self.arguments.index(LISTEN) + 1
        address = ready_text.rpartition("://")[2]
        return replace(self, arguments=(*self.arguments[:at], address, *self.arguments[at + 1 :]))


@dataclass(frozen=True, slots=True)
class Ready:
    """A child has printed its ready line; `text` is what followed the word."""

    child: Child
    text: str


@dataclass(frozen=True, slots=True)
class Exited:
    """A child's process has ended."""

    child: Child
    code: int


@dataclass(frozen=True, slots=True)
class StopRequested:
    """The platform was asked to end, by Ctrl-C or SIGTERM."""


Event = Ready | Exited | StopRequested


class Child:
    """A running service. Its two threads only report; the supervisor's thread decides."""

    def __init__(self, service: Service, logs: Path, events: SimpleQueue[Event]) -> None:
        self.service = service
        self.output = Output(logs / f"{service.name}.log")
        self._events = events
        command = [sys.executable, *service.arguments]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "penstock.platform.child", str(os.getpid()), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=0,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self._reader = threading.Thread(target=self._read, name=f"{service.name}-output", daemon=True)
        self._reader.start()
        threading.Thread(target=self._wait, name=f"{service.name}-exit", daemon=True).start()

    def ask_to_stop(self) -> None:
        """SIGTERM, to the service alone: it knows best how to end what it has started."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL, to the service and everything it has started."""
        self._signal_group(signal.SIGKILL)

    def end_leftovers(self) -> None:
        """Gives what the service has started a moment to end, then ends it."""
        deadline = time.monotonic() + LEFTOVERS_S
        while self._signal_group(0) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        self.kill()
        self._reader.join(LEFTOVERS_S)
        self.output.close()

    def _signal_group(self, number: int) -> bool:
        """False when the group has no member left."""
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            return False
        return True

    def _read(self) -> None:
        assert self.process.stdout is not None
        ready = False
        while line := self.process.stdout.readline(LINE_BYTES_MAX):
            text = self.output.take(line)
            if text is not None and not ready:
                ready = True
                self._events.put(Ready(self, text))

    def _wait(self) -> None:
        code = self.process.wait()
        # What it said last explains the exit: let the reader finish, unless another process holds the pipe.
        self._reader.join(1.0)
        self._events.put(Exited(self, code))
