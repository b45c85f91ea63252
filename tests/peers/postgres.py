"""PostgreSQL as a peer: the machine's own, on a free port, in a directory of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import pytest

START_SECONDS: Final = 90.0


def _programs() -> Path:
    """The directory of the server's programs; a skip where there is none."""
    for place in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (place / "initdb").exists():
            return place
    found = shutil.which("initdb")
    if found is None:
        pytest.skip("initdb is not installed: it comes with Debian's package postgresql")
    return Path(found).resolve().parent


class PostgreSQL:
    """A server that refuses to run as root runs as the user `postgres` there."""

    def __init__(self) -> None:
        self._bin = _programs()
        self._directory = Path(tempfile.mkdtemp(prefix="penstock-postgres-"))
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = int(free.getsockname()[1])

    @property
    def dsn(self) -> str:
        return f"host=127.0.0.1 port={self._port} user=postgres dbname=postgres"

    def ask(self, statement: str) -> list[Any]:
        import psycopg

        with psycopg.connect(self.dsn, autocommit=True, connect_timeout=5) as connection:
            found = connection.execute(statement)
            return found.fetchall() if found.description else []

    def __enter__(self) -> Self:
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(self._directory, owner.pw_uid, owner.pw_gid)
        data = str(self._directory / "data")
        made = [str(self._bin / "initdb"), "-D", data, "-U", "postgres", "--auth=trust", "--no-sync"]
        subprocess.run([*self._as_user(), *made, "--locale=C"], check=True, capture_output=True)
        options = ["-c", "listen_addresses=127.0.0.1", "-c", f"port={self._port}", "-c", "fsync=off"]
        options += ["-c", f"unix_socket_directories={self._directory}", "-c", "shared_buffers=16MB"]
        self._process = subprocess.Popen(
            [*self._as_user(), str(self._bin / "postgres"), "-D", data, *options],
            stdout=subprocess.DEVNULL,
            stderr=(self._directory / "errors.log").open("wb"),
            start_new_session=True,
        )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            errors = (self._directory / "errors.log").read_text()[-2000:]
            assert self._process.poll() is None, errors
            assert time.monotonic() < deadline, errors
            time.sleep(0.1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(30)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _answers(self) -> bool:
        import psycopg

        try:
            return bool(self.ask("SELECT 1"))
        except psycopg.OperationalError:
            return False

    def _as_user(self) -> list[str]:
        if os.geteuid() != 0:
            return []
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
