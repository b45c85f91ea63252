"""One process of a cluster, and what may happen to it. `Cluster` makes nodes; tests hurt them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from penstock.testing.cluster.software import Software

STOP_SECONDS: Final = 60.0
LOG_BYTES_SHOWN: Final = 3_000


class Node:
    """A node with an address, a directory and a properties file that outlive its process."""

    def __init__(
        self,
        number: int,
        software: Software,
        home: Path,
        *,
        address: str,
        properties: Mapping[str, str],
        prefix: tuple[str, ...] = (),
    ) -> None:
        self.number = number
        self.address = address  # host:port for clients; a controller's own when it serves none
        self.home = home
        self.data = home / "data"
        self.environment: dict[str, str] = {}
        """Added to the process's at its next start."""
        self.properties = dict(properties)
        """Written to the file at the next start."""
        self._software = software
        self._prefix = prefix  # the command that carries the process into its network
        self._process: subprocess.Popen[bytes] | None = None
        self.is_paused = False

    @property
    def log_dirs(self) -> list[Path]:
        """Where its logs are; `data` is the first."""
        return [Path(each) for each in self.properties["log.dirs"].split(",")]

    def directory_of(self, log: str) -> Path:
        """The one of them that holds this log, `data` when none does."""
        return next((each for each in self.log_dirs if (each / log).exists()), self.data)

    @property
    def pid(self) -> int:
        assert self._process is not None, f"node {self.number} is not running"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def has_ended(self) -> bool:
        """Whether the process ended by itself, and nobody asked it to."""
        return self._process is not None and self._process.poll() is not None

    def start(self) -> None:
        """Start the process on the data that is there; it serves some time later."""
        assert not self.is_running, f"node {self.number} is running"
        self.data.mkdir(parents=True, exist_ok=True)
        file = self.home / "server.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in self.properties.items()))
        for directory in self.log_dirs:
            self._software.format(file, directory)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._prefix, *self._software.command(file)],
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        """kill -9: no goodbye, nothing flushed."""
        self._end(signal.SIGKILL, STOP_SECONDS)

    def stop(self, patience_seconds: float = STOP_SECONDS) -> int:
        """SIGTERM: the controlled shutdown. Gives the exit code."""
        return self._end(signal.SIGTERM, patience_seconds)

    def pause(self) -> None:
        """SIGSTOP: it holds its connections and does nothing, as in a long collection of garbage."""
        os.kill(self.pid, signal.SIGSTOP)
        self.is_paused = True

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)
        self.is_paused = False

    def wipe(self) -> None:
        """Lose the disk: what comes back is an empty node with the old number."""
        assert not self.is_running, f"node {self.number} is running"
        for entry in self.data.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()

    def log_tail(self) -> str:
        """What the process said last."""
        return self._log.read_text(errors="replace")[-LOG_BYTES_SHOWN:] if self._log.exists() else ""

    @property
    def _log(self) -> Path:
        return self.home / "server.log"

    def _end(self, number: int, patience_seconds: float) -> int:
        process, self._process, self.is_paused = self._process, None, False
        if process is None:
            return 0
        process.send_signal(number)
        try:
            return process.wait(patience_seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_SECONDS)
            raise
