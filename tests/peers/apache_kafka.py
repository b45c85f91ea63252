"""Apache Kafka 4.x as a peer: one node in KRaft combined mode, from Maven Central, kept in the user's cache.

Tests take the fixture `apache_kafka` (import it into the conftest of the area that wants it; all share one
node); a benchmark that wants its own node and its own heap uses `ApacheKafka` as a context manager.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

VERSION: Final = "4.2.0"
CLUSTER_ID: Final = "4L6g3nShT-eMCtK--X86sw"
DOWNLOAD_SECONDS: Final = 300
START_SECONDS: Final = 60
STOP_SECONDS: Final = 30
QUICK_JAVA: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For a Java of minutes, which is not worth the second, longer compilation, nor many threads for garbage."""

_POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>penstock.tests</groupId><artifactId>apache-kafka</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>
{artifacts}
<dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>2.25.3</version></dependency>
</dependencies></project>
"""

_DEPENDENCY: Final = (
    "<dependency><groupId>org.apache.kafka</groupId><artifactId>{artifact}</artifactId>"
    "<version>{version}</version></dependency>"
)

_PROPERTIES: Final = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
"""


class Unavailable(Exception):
    """Why there can be no Apache Kafka here; the fixture skips with this sentence."""


def cache_dir() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock" / "peers"


@cache
def jars() -> Path:
    """The directory with the jars of Kafka's broker; fetched by Maven when it is not there yet."""
    return _fetched("kafka", "kafka_2.13")


@cache
def tool_jars() -> Path:
    """The same for Kafka's own command-line tools, its performance tests among them."""
    return _fetched("kafka-tools", "kafka-tools")


@cache
def streams_jars() -> Path:
    """The same for Kafka Streams with its test driver."""
    return _fetched("kafka-streams-test-utils", "kafka-streams-test-utils")


@cache
def connect_jars() -> Path:
    """The same for Kafka Connect with its FileStream connectors."""
    return _fetched("kafka-connect", "connect-runtime", "connect-file")


@cache
def mirror_jars() -> Path:
    """The same for MirrorMaker 2, with the Connect worker that it runs in."""
    return _fetched("connect-mirror", "connect-mirror")


def _fetched(name: str, *artifacts: str) -> Path:
    if shutil.which("java") is None:
        raise Unavailable("Apache Kafka needs `java` on the PATH")
    libs = cache_dir() / f"{name}-{VERSION}"
    if libs.is_dir():
        return libs
    if shutil.which("mvn") is None:
        raise Unavailable(
            f"Apache Kafka {VERSION} is not in the cache and `mvn` is not on the PATH to fetch it"
        )
    libs.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=libs.parent) as work:
        wanted = "".join(_DEPENDENCY.format(artifact=each, version=VERSION) for each in artifacts)
        (Path(work) / "pom.xml").write_text(_POM.format(artifacts=wanted))
        command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=libs"]
        try:
            subprocess.run(
                command, cwd=work, check=True, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            raise Unavailable(
                f"Maven could not fetch Apache Kafka {VERSION}: {error.stdout!s:.300}"
            ) from None
        if not libs.is_dir():  # another run may have been faster
            (Path(work) / "libs").rename(libs)
    return libs


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class ApacheKafka:
    """One node on a free port with its data in a temporary directory, ready when `with` is entered."""

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        java_options: tuple[str, ...] = ("-Xms256m", "-Xmx512m", *QUICK_JAVA),
        parent: Path | None = None,
    ) -> None:
        self.settings = dict(settings or {})
        self._java_options = java_options
        self._parent = parent  # of the temporary directory, where the system's own is not wanted
        self._port = free_port()
        self.controller_port = free_port()
        self._work: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.bootstrap_servers = f"127.0.0.1:{self._port}"

    def __enter__(self) -> ApacheKafka:
        libs = jars()
        self._work = Path(tempfile.mkdtemp(prefix="apache-kafka-", dir=self._parent))
        try:
            self._write_properties()
            self._java(
                libs, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(self._properties)
            )
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self) -> None:
        """Start the process on the data that is there; returns when clients may connect."""
        command = [*self._command(jars()), "kafka.Kafka", str(self._properties)]
        with self._log_file.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self._wait_ready()

    def stop(self, *, kill: bool = False, patience_seconds: float = STOP_SECONDS) -> None:
        """Stop the process, keep the data."""
        if self._process is None:
            return
        if kill:
            self._process.kill()
        else:
            self._process.terminate()
        try:
            self._process.wait(timeout=patience_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=STOP_SECONDS)
        self._process = None

    def kill(self) -> None:
        """kill -9; `start` goes on with what is on disk."""
        self.stop(kill=True)

    def __exit__(self, *_: object) -> None:
        self.kill()
        if self._work is not None:
            shutil.rmtree(self._work, ignore_errors=True)

    @property
    def pid(self) -> int:
        assert self._process is not None, "not running"
        return self._process.pid

    @property
    def data(self) -> Path:
        return self._dir / "data"

    @property
    def _dir(self) -> Path:
        assert self._work is not None, "use it in a with statement"
        return self._work

    @property
    def _properties(self) -> Path:
        return self._dir / "server.properties"

    @property
    def _log_file(self) -> Path:
        return self._dir / "server.log"

    def _write_properties(self) -> None:
        text = _PROPERTIES.format(port=self._port, controller_port=self.controller_port, data=self.data)
        text += "".join(f"{key}={value}\n" for key, value in self.settings.items())
        self._properties.write_text(text)
        (self._dir / "log4j2.properties").write_text(
            "rootLogger.level=warn\nrootLogger.appenderRef.c.ref=C\nappender.c.type=Console\nappender.c.name=C\n"
            "appender.c.layout.type=PatternLayout\nappender.c.layout.pattern=%d %p %c{1} %m%n\n"
        )

    def _command(self, libs: Path) -> list[str]:
        return [
            "java",
            *self._java_options,
            f"-Dlog4j2.configurationFile={self._dir / 'log4j2.properties'}",
            "-cp",
            f"{libs}/*",
        ]

    def _java(self, libs: Path, *arguments: str) -> None:
        done = subprocess.run(
            [*self._command(libs), *arguments], capture_output=True, text=True, timeout=START_SECONDS
        )
        assert done.returncode == 0, f"{arguments[0]} failed: {done.stdout}{done.stderr}"

    def _wait_ready(self) -> None:
        assert self._process is not None
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
        deadline = time.monotonic() + START_SECONDS
        while True:
            if self._process.poll() is not None:
                raise AssertionError(f"Apache Kafka ended: {self._log_file.read_text()[-2000:]}")
            try:
                if admin.list_topics(timeout=1).brokers:
                    return
            except KafkaException:
                if time.monotonic() > deadline:
                    raise AssertionError(f"not ready: {self._log_file.read_text()[-2000:]}") from None


_shared: ApacheKafka | None = None


@pytest.fixture(scope="session")
def apache_kafka() -> Iterator[ApacheKafka]:
    """One node for all tests that ask; each test uses topics of its own."""
    global _shared
    if _shared is not None:  # another area imported the fixture too and owns the node
        yield _shared
        return
    try:
        jars()
    except Unavailable as reason:
        pytest.skip(str(reason))
    with ApacheKafka() as node:
        _shared = node
        yield node
        _shared = None
