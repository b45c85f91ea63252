"""Servers that connectors speak with: the machine's own programs, each on a free port in a directory of its
own."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

START_S = 90.0


def program(name: str, package: str, *places: str) -> str:
    """The path of a program; a skip when the machine does not have it."""
    found = [path for place in places for path in sorted(glob.glob(place), reverse=True)]
    path = shutil.which(name) or (found[0] if found else None) or shutil.which(f"/usr/sbin/{name}")
    if path is None:
        pytest.skip(f"{name} is not installed: it comes with Debian's package {package}")
    return path


class Server:
    """A process that can be killed and started again with the data it has."""

    user: str | None = None

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="penstock-server-"))
        self.port = _free_port()
        self.process: subprocess.Popen[bytes] | None = None
        if os.geteuid() == 0 and self.user:
            owner = pwd.getpwnam(self.user)
            os.chown(self.directory, owner.pw_uid, owner.pw_gid)

    def command(self) -> list[str]:
        raise NotImplementedError

    def answers(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.port), 1):
            return True

    def start(self) -> Self:
        self.process = subprocess.Popen(
            [*self.as_user(), *self.command()],
            stdout=(self.directory / "output.log").open("ab"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=self.directory,
        )
        await_true(self._up, f"{type(self).__name__} answers", START_S)
        return self

    def _up(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.directory / "output.log").read_text()[-2000:]
        try:
            return self.answers()
        except Exception:  # each driver has its own errors for a server that is not there yet
            return False

    def as_user(self) -> list[str]:
        if os.geteuid() != 0 or self.user is None:
            return []
        return ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"]

    def kill(self) -> None:
        """kill -9 of the server with all processes that it started."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(30)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


class Postgres(Server):
    user = "postgres"

    def __init__(self) -> None:
        self._bin = Path(program("initdb", "postgresql", "/usr/lib/postgresql/*/bin/initdb")).resolve().parent
        super().__init__()
        made = [
            str(self._bin / "initdb"),
            "-D",
            str(self.data),
            "-U",
            "postgres",
            "--auth=trust",
            "--no-sync",
        ]
        subprocess.run([*self.as_user(), *made, "-E", "UTF8", "--locale=C"], check=True, capture_output=True)

    @property
    def data(self) -> Path:
        return self.directory / "data"

    def command(self) -> list[str]:
        settings = {
            "port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": self.directory,
            "wal_level": "logical", "shared_buffers": "32MB", "max_wal_senders": 10,
            "max_replication_slots": 20,
        }  # fmt: skip
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [str(self._bin / "postgres"), "-D", str(self.data), *options]

    def start(self) -> Self:
        (self.data / "postmaster.pid").unlink(missing_ok=True)  # of a process that was killed
        return super().start()

    def answers(self) -> bool:
        self.run("SELECT 1")
        return True

    def run(self, statement: str, *arguments: Any, many: Any = None) -> list[Any]:
        import psycopg

        with (
            psycopg.connect(self.dsn, autocommit=many is None, connect_timeout=5) as connection,
            connection.cursor() as cursor,
        ):
            if many is not None:
                cursor.executemany(statement, many)
            else:
                cursor.execute(statement, arguments or None)
            return cursor.fetchall() if cursor.description else []

    @property
    def dsn(self) -> str:
        return f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres"

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"


class MariaDb(Server):
    user = "mysql"

    def __init__(self) -> None:
        self._server = program("mariadbd", "mariadb-server")
        install = program("mariadb-install-db", "mariadb-server")
        super().__init__()
        made = [install, "--no-defaults", f"--datadir={self.data}",
            "--auth-root-authentication-method=normal",
                "--skip-test-db"]  # fmt: skip
        subprocess.run([*self.as_user(), *made], check=True, capture_output=True)

    @property
    def data(self) -> Path:
        return self.directory / "data"

    def command(self) -> list[str]:
        return [
            self._server, "--no-defaults", f"--datadir={self.data}", f"--port={self.port}",
            "--bind-address=127.0.0.1", f"--socket={self.directory}/socket", "--innodb-buffer-pool-size=32M",
            "--log-bin=binlog", "--binlog-format=ROW", "--binlog-row-image=FULL", "--server-id=1",
            "--binlog-row-metadata=FULL", f"--pid-file={self.directory}/pid",
        ]  # fmt: skip

    def answers(self) -> bool:
        self.run("CREATE DATABASE IF NOT EXISTS shop")
        return True

    def run(self, statement: str, *arguments: Any, many: Any = None) -> list[Any]:
        import pymysql

        where = {
            "host": "127.0.0.1",
            "port": self.port,
            "user": "root",
            "autocommit": True,
            "charset": "utf8mb4",
        }
        with pymysql.connect(**where, connect_timeout=5) as connection, connection.cursor() as cursor:
            if "CREATE DATABASE" not in statement:
                cursor.execute("USE shop")
            if many is not None:
                cursor.executemany(statement, many)
            else:
                cursor.execute(statement, arguments or None)
            return list(cursor.fetchall())

    @property
    def url(self) -> str:
        return f"jdbc:mariadb://127.0.0.1:{self.port}/shop?user=root"


class Redis(Server):
    """Every write reaches its log at once, so that a kill loses nothing."""

    def __init__(self) -> None:
        self._server = program("redis-server", "redis-server")
        super().__init__()

    def command(self) -> list[str]:
        settings = {"port": self.port, "bind": "127.0.0.1", "dir": self.directory, "save": "",
                    "appendonly": "yes", "requirepass": "secret"}  # fmt: skip
        return [
            self._server,
            *(part for name, value in settings.items() for part in (f"--{name}", str(value))),
        ]

    def answers(self) -> bool:
        return bool(self.client().ping())

    def client(self) -> Any:
        import redis

        return redis.Redis(port=self.port, password="secret", decode_responses=True)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"


class Mosquitto(Server):
    """An MQTT broker. It keeps sessions while it runs, and loses them with a kill."""

    def __init__(self) -> None:
        self._server = program("mosquitto", "mosquitto")
        super().__init__()
        (self.directory / "mosquitto.conf").write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\nuser root\n"
        )

    def command(self) -> list[str]:
        return [self._server, "-c", str(self.directory / "mosquitto.conf")]

    @property
    def url(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"


def await_true(condition: Callable[[], Any], what: str, seconds: float) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.1)
    return found


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
