"""Java programs that tests run: Kafka's own command-line tools, and the checks that stand as .java files
beside their tests. All run in one JVM, one after the other: to start one costs more than most of them do.
"""

from __future__ import annotations

import socket
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.peers.apache_kafka import QUICK_JAVA, Unavailable, jars, tool_jars

SECONDS: Final = 120.0
HERE: Final = Path(__file__).parent
SOURCES: Final = (HERE / "JavaPrograms.java", *sorted(HERE.with_name("compat").glob("*.java")))
QUIET: Final = ("-Xmx256m", "-Dlog4j2.level=OFF", *QUICK_JAVA)


class JavaPrograms:
    """Compiles at once whatever there is in Java beside the tests, and runs what it is asked to."""

    def __init__(self, classes: Path) -> None:
        self.class_path = f"{classes}:{tool_jars()}/*:{jars()}/*"
        compiler = ["javac", *(f"-J{option}" for option in QUICK_JAVA), "-nowarn", "-cp", self.class_path]
        done = subprocess.run(
            [*compiler, "-d", str(classes), *map(str, SOURCES)],
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        with socket.create_server(("127.0.0.1", 0)) as door:
            door.settimeout(SECONDS)
            command = ["java", *QUIET, "-cp", self.class_path, "JavaPrograms", str(door.getsockname()[1])]
            self._process = subprocess.Popen(command)
            self._socket, _ = door.accept()
        self._socket.settimeout(SECONDS)
        self._told = self._socket.makefile("rb")

    def run(self, name: str, *arguments: str) -> str:
        """What the main method of this class prints; it must succeed."""
        code, said, errors = self.outcome(name, *arguments)
        assert code == 0, f"{name} ended with {code}: {said[-2000:]}{errors[-2000:]}"
        return said

    def outcome(self, name: str, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        """The exit code of the program, and what it printed to standard output and to standard error."""
        fed = [f"<{stdin}"] if stdin else []
        words = [word.encode() for word in (*fed, name, *arguments)]
        packed = b"".join(struct.pack(">H", len(word)) + word for word in words)
        self._socket.sendall(struct.pack(">i", len(words)) + packed)
        return self._number(), self._text(), self._text()

    def _number(self) -> int:
        return int(struct.unpack(">i", self._told.read(4))[0])

    def _text(self) -> str:
        return self._told.read(self._number()).decode()

    def close(self) -> None:
        self._told.close()
        self._socket.close()
        self._process.kill()
        self._process.wait(10)


@pytest.fixture(scope="session")
def java_programs() -> Iterator[JavaPrograms]:
    with tempfile.TemporaryDirectory() as classes:
        try:
            programs = JavaPrograms(Path(classes))
        except Unavailable as reason:
            pytest.skip(str(reason))
        yield programs
        programs.close()
