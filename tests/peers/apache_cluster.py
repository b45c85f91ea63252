"""Apache Kafka as the software of a `penstock.testing.cluster.Cluster`: the same harness, the same faults.

Formatting takes a JVM of its own, so one directory is formatted and the others are made like it.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import uuid
from pathlib import Path
from typing import Final

from penstock.testing.cluster.cluster import CLUSTER_ID
from tests.peers.apache_kafka import VERSION, jars

QUICK_TO_START: Final = ("-Xms128m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
FORMAT_SECONDS: Final = 60

_LOGGING: Final = (
    "rootLogger.level=warn\nrootLogger.appenderRef.c.ref=C\nappender.c.type=Console\nappender.c.name=C\n"
    "appender.c.layout.type=PatternLayout\nappender.c.layout.pattern=%d %p %c{1} %m%n\n"
)


class Apache:
    """Apache Kafka's own broker, one JVM for each node."""

    name = f"Kafka {VERSION}"

    def __init__(self, java_options: tuple[str, ...] = QUICK_TO_START) -> None:
        self._java_options = java_options
        self._formatted: Path | None = None  # the first directory's files, kept for the others

    def format(self, properties: Path, data: Path) -> None:
        """As `kafka-storage.sh format`: the directory gets the cluster's id and the features of this
        version."""
        if (data / "meta.properties").exists():
            return
        if self._formatted is None:
            self._formatted = self._format_by_tool(properties, data)
        for name in ("meta.properties", "bootstrap.checkpoint"):
            shutil.copy(self._formatted / name, data)
        lines = (data / "meta.properties").read_text().splitlines()
        own = {"node.id": _number(properties), "directory.id": _new_id()}
        changed = [
            f"{key}={own.get(key, value)}" for key, _, value in (line.partition("=") for line in lines)
        ]
        (data / "meta.properties").write_text("\n".join(line.removesuffix("=") for line in changed) + "\n")
        os.sync()  # a power cut may come within seconds

    def command(self, properties: Path) -> list[str]:
        return [*self._java(properties), "kafka.Kafka", str(properties)]

    def _format_by_tool(self, properties: Path, data: Path) -> Path:
        tool = ("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties))
        done = subprocess.run(
            [*self._java(properties), *tool], capture_output=True, text=True, timeout=FORMAT_SECONDS
        )
        assert done.returncode == 0, f"formatting failed: {done.stdout}{done.stderr}"
        kept = properties.parent.parent / "formatted"
        kept.mkdir(exist_ok=True)
        for name in ("meta.properties", "bootstrap.checkpoint"):
            shutil.copy(data / name, kept)
        return kept

    def _java(self, properties: Path) -> list[str]:
        logging = properties.with_name("log4j2.properties")
        logging.write_text(_LOGGING)
        return [
            "java",
            *self._java_options,
            f"-Dlog4j2.configurationFile={logging}",
            "-cp",
            f"{jars()}/*",
        ]


def _number(properties: Path) -> str:
    lines = properties.read_text().splitlines()
    return next(line.removeprefix("node.id=") for line in lines if line.startswith("node.id="))


def _new_id() -> str:
    """A UUID in the letters that Kafka uses; none of them may begin with a hyphen."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text
