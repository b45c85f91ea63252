"""Apache Kafka Connect 4.x as a process, distributed or standalone, against any broker."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.peers.apache_kafka import QUICK_JAVA, connect_jars, free_port

READY_S: Final = 120.0
STRING: Final = "org.apache.kafka.connect.storage.StringConverter"
DEFAULTS: Final = {
    "group.id": "apache-connect",
    "key.converter": STRING,
    "value.converter": STRING,
    "config.storage.replication.factor": "1",
    "offset.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "offset.storage.partitions": "3",
    "status.storage.partitions": "1",
    "config.storage.topic": "apache-configs",
    "offset.storage.topic": "apache-offsets",
    "status.storage.topic": "apache-status",
    "offset.flush.interval.ms": "500",
    "connector.client.config.override.policy": "All",
}


class ApacheConnect:
    """One worker; `with` starts it and waits until it answers."""

    def __init__(
        self, servers: str, connectors: Sequence[Mapping[str, str]] | None = None, **settings: str
    ) -> None:
        """`connectors` makes the worker standalone."""
        self._connectors = connectors
        self._work = tempfile.TemporaryDirectory(prefix="apache-connect-")
        self._dir = Path(self._work.name)
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        own = {name.replace("_", "."): value for name, value in settings.items()}
        listen = {"bootstrap.servers": servers, "listeners": self.url}
        self.settings = {**DEFAULTS, **listen, **own}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ApacheConnect:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(kill=True)
        self._work.cleanup()

    def start(self) -> None:
        main = "ConnectDistributed" if self._connectors is None else "ConnectStandalone"
        files = [_written(self._dir / "worker.properties", self.settings)]
        for number, config in enumerate(self._connectors or ()):
            files.append(_written(self._dir / f"{number}.properties", config))
        (self._dir / "log4j2.properties").write_text(
            "rootLogger.level=warn\nrootLogger.appenderRef.c.ref=C\nappender.c.type=Console\nappender.c.name=C\n"
            "appender.c.layout.type=PatternLayout\nappender.c.layout.pattern=%d %p %c{1} %m%n\n"
        )
        command = ["java", "-Xmx256m", *QUICK_JAVA, "-cp", f"{connect_jars()}/*"]
        command += [f"-Dlog4j2.configurationFile={self._dir / 'log4j2.properties'}"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, f"org.apache.kafka.connect.cli.{main}", *files], stdout=log, stderr=log
            )
        self._await_ready()

    def stop(self, *, kill: bool = False) -> None:
        if self._process is None:
            return
        if kill:
            self._process.kill()
        else:
            self._process.terminate()
        self._process.wait(60)
        self._process = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "not running"
        return self._process.pid

    @property
    def log(self) -> Path:
        return self._dir / "log"

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return asked(self.url, method, path, body)

    def _await_ready(self) -> None:
        deadline = time.monotonic() + READY_S
        while True:
            try:
                if self.call("GET", "/health")[0] == 200 and self.call("GET", "/connectors")[0] == 200:
                    return
            except OSError:
                pass
            assert self._process is not None
            late = time.monotonic() > deadline or self._process.poll() is not None
            assert not late, self.log.read_text()[-3000:]
            time.sleep(0.2)


def _written(path: Path, properties: Mapping[str, str]) -> str:
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    return str(path)


def asked(url: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Status and body; a body of bytes is sent as it is, and one that is no JSON comes back as text."""
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(
        url + path, data=data, method=method, headers={"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=90) as answer:
            return answer.status, _parsed(answer.read())
    except urllib.error.HTTPError as refused:
        return refused.code, _parsed(refused.read())


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data) if data else None
    except ValueError:
        return data.decode(errors="replace")
