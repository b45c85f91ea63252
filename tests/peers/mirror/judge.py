"""MirrorMaker 2's own classes in one JVM, asked line by line."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.peers.apache_kafka import QUICK_JAVA, Unavailable, mirror_jars

HERE = Path(__file__).parent


class Judge:
    def __init__(self, classes: Path) -> None:
        class_path = f"{classes}:{mirror_jars()}/*"
        compiler = ["javac", *(f"-J{each}" for each in QUICK_JAVA), "-nowarn", "-cp", class_path]
        subprocess.run(
            [*compiler, "-d", str(classes), str(HERE / "MirrorJudge.java")], check=True, timeout=120
        )
        name = "org.apache.kafka.connect.mirror.MirrorJudge"
        self._process = subprocess.Popen(
            ["java", "-Xmx256m", "-Dlog4j2.level=OFF", *QUICK_JAVA, "-cp", class_path, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def ask(self, about: str, **asked: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"about": about, **asked}) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer

    def close(self) -> None:
        self._process.kill()
        self._process.wait(10)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with tempfile.TemporaryDirectory() as classes:
        try:
            made = Judge(Path(classes))
        except Unavailable as reason:
            pytest.skip(str(reason))
        yield made
        made.close()
