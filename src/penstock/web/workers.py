"""Several processes of one service on one port: each listens by SO_REUSEPORT, and the kernel gives each
connection to one of them.

The first process starts the workers, says `ready` when all of them are, starts one again that has ended, and
ends them all when it is told to stop. Workers end by themselves when it is gone. Called by the command line.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from penstock.settings.listeners import format_address

STOP_WITHIN_S: Final = 20.0
AGAIN_AFTER_S: Final = 1.0
"""A worker that ended is started again no sooner than this after its last start."""
_LOOK_S: Final = 0.2
_STOP: Final = (signal.SIGTERM, signal.SIGINT)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Worker:
    """Which of several workers this process is."""

    number: int
    count: int
    folder: Path
    """Where each worker has a socket for the others, named by its number."""

    @classmethod
    def parse(cls, text: str) -> Self:
        number, count, folder = text.split("/", 2)
        return cls(int(number), int(count), Path(folder))

    def encode(self) -> str:
        return f"{self.number}/{self.count}/{self.folder}"

    def socket_of(self, number: int) -> Path:
        return self.folder / str(number)

    def own_socket(self) -> socket.socket:
        """Bound and listening; the other workers reach this one by it."""
        place = self.socket_of(self.number)
        place.unlink(missing_ok=True)
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.bind(str(place))
        made.listen(1024)
        return made


def end_with_starter() -> None:
    """For a worker: SIGTERM to itself when the process that started it is gone, and its pipe with it."""

    def watch() -> None:
        while os.read(0, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="starter", daemon=True).start()


def run_workers(
    command: Sequence[str], count: int, host: str, port: int, ready: Callable[[str], None]
) -> bool:
    """Until SIGTERM or SIGINT. False when a worker did not start: it has said why. OSError when the address
    cannot be had."""
    with _held(host, port) as held, tempfile.TemporaryDirectory(prefix="penstock-workers-") as folder:
        address = format_address(*held.getsockname()[:2])
        listen = [*command, "--listen", address]
        workers = [_Process(listen, Worker(number, count, Path(folder))) for number in range(count)]
        stopping = threading.Event()
        former = {each: signal.signal(each, lambda *_: stopping.set()) for each in _STOP}
        try:
            if not all(worker.is_ready() for worker in workers):
                return stopping.is_set()
            ready(address)
            while not stopping.wait(_LOOK_S):
                for worker in workers:
                    worker.look()
            return True
        finally:
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.end()
            for each, handler in former.items():
                signal.signal(each, handler)


class _Process:
    def __init__(self, command: Sequence[str], worker: Worker) -> None:
        self._command = [sys.executable, "-m", "penstock", *command, "--worker", worker.encode()]
        self._number = worker.number
        self._start()

    def is_ready(self) -> bool:
        assert self._process.stdout is not None
        return self._process.stdout.readline().startswith(b"ready")

    def look(self) -> None:
        if self._process.poll() is None or time.monotonic() - self._started < AGAIN_AFTER_S:
            return
        _log.error("worker %d has ended with %s and is started again", self._number, self._process.returncode)
        self._close()
        self._start()

    def terminate(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()

    def end(self) -> None:
        try:
            self._process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._close()

    def _start(self) -> None:
        self._started = time.monotonic()
        # A group of its own: Ctrl-C in a terminal goes to the first process alone, which passes it on.
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
        )

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


def _held(host: str, port: int) -> socket.socket:
    """The address, bound and not listening: it is this service's also while no worker runs."""
    held = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        if port:  # SO_REUSEPORT alone would share it with whatever else listens so
            _check_free(host, port)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind((host, port))
    except BaseException:
        held.close()
        raise
    return held


def _check_free(host: str, port: int) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        tried.bind((host, port))
