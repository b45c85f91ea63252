"""Where the offsets of sources are: in a compacted topic, or in the file of a standalone worker.

In a topic they are committed with the records, in one transaction. A file is written after the transaction:
what was read between is read again after a crash, as with Kafka's standalone worker.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from penstock.connect.errors import ConnectError
from penstock.connect.worker import java_maps
from penstock.connect.worker.layout import Entry
from penstock.connect.worker.topics import WorkerTopics


class OffsetStore(Protocol):
    topic: str
    """Empty if the offsets are not in a topic."""

    def prepare(self) -> None: ...

    def read(self) -> dict[bytes, bytes | None]: ...

    def write(self, entries: Sequence[Entry]) -> None: ...


class TopicOffsets:
    def __init__(self, topics: WorkerTopics, topic: str) -> None:
        self._topics, self.topic = topics, topic

    def prepare(self) -> None:
        self._topics.ensure([self.topic])

    def read(self) -> dict[bytes, bytes | None]:
        return self._topics.read(self.topic)

    def write(self, entries: Sequence[Entry]) -> None:
        self._topics.write(self.topic, entries)


class FileOffsets:
    """Kafka's own file: a map of Java. Used by the threads of all connectors."""

    topic = ""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()

    def prepare(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)

    def read(self) -> dict[bytes, bytes | None]:
        with self._lock:
            return self._read()

    def write(self, entries: Sequence[Entry]) -> None:
        with self._lock:
            known = self._read() | dict(entries)
            temporary = self._path.with_name(f"{self._path.name}.new")
            with temporary.open("wb") as file:
                file.write(java_maps.dumps({key: value for key, value in known.items() if value is not None}))
                file.flush()
                os.fsync(file.fileno())
            temporary.rename(self._path)

    def _read(self) -> dict[bytes, bytes | None]:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return {}
        try:
            return java_maps.loads(data) if data else {}
        except ValueError as error:
            raise ConnectError(f"{self._path} holds no offsets of Kafka Connect: {error}") from error
