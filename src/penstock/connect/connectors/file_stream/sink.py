"""Values of topics as lines of a file, as Kafka's FileStreamSink.

Exactly once per file: the positions of the topics stand in a file beside it (`FILE.offsets`) together with
the length that the output had then. Lines of a batch that was not finished are cut off before the next one.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Collection, Mapping, Sequence
from typing import IO, Any, ClassVar, Final

from penstock.connect.api import ConfigDef, ConnectRecord, Importance, Kind
from penstock.connect.api.guards import allowed_path, path_mistakes
from penstock.connect.api.sink import SinkConnector, SinkTask
from penstock.connect.data.text import java_text
from penstock.protocol.topic_partition import TopicPartition

CONFIG: Final = ConfigDef().define(
    "file",
    Kind.STRING,
    None,
    importance=Importance.HIGH,
    doc="Destination filename. If not specified, the standard output will be used",
)


class FileStreamSinkTask(SinkTask):
    def __init__(self, config: Mapping[str, str]) -> None:
        super().__init__(config)
        self._path = allowed_path(config, config["file"])
        self._notes = self._path.with_name(f"{self._path.name}.offsets")
        self._out: IO[bytes] | None = None
        self._known: dict[str, int] = {}

    def stored_offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._out = self._path.open("ab")
        fcntl.flock(self._out, fcntl.LOCK_EX)  # a task of a worker that was killed may still be writing
        noted = self._noted()
        if noted is None:
            self._note({})
        else:
            self._known = noted["offsets"]
            self._out.truncate(min(noted["length"], self._path.stat().st_size))
        names = {each: self._named(each) for each in partitions}
        return {each: self._known[name] for each, name in names.items() if name in self._known}

    def _named(self, place: TopicPartition) -> str:
        """With the connector's name: two may write what they read of one topic into one file. A note without
        names is older than they are."""
        name = f"{self.config.get('name', '')}/{place}"
        is_old = not any("/" in each for each in self._known)
        return str(place) if is_old and str(place) in self._known else name

    def put(self, records: Sequence[ConnectRecord]) -> None:
        assert self._out is not None
        lines = [java_text(record.value) + "\n" for record in records]
        self._out.write("".join(lines).encode())

    def flush(self, ends: Mapping[TopicPartition, int]) -> None:
        assert self._out is not None
        self._out.flush()
        os.fsync(self._out.fileno())
        self._note(self._known | {self._named(place): offset for place, offset in ends.items()})

    def _note(self, offsets: Mapping[str, int]) -> None:
        """What the file holds now is safe, up to these offsets."""
        noted = {"length": self._path.stat().st_size, "offsets": offsets}
        temporary = self._notes.with_name(self._notes.name + ".new")
        with temporary.open("w") as file:
            file.write(json.dumps(noted))
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(self._notes)

    def close(self) -> None:
        if self._out is not None:
            self._out.close()

    def _noted(self) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = json.loads(self._notes.read_text())
        except FileNotFoundError:
            return None
        return found


class FileStreamSink(SinkConnector):
    NAMES: ClassVar = ("org.apache.kafka.connect.file.FileStreamSinkConnector",)
    CONFIG: ClassVar = CONFIG
    TASK: ClassVar = FileStreamSinkTask
    TASK_NAME: ClassVar = "org.apache.kafka.connect.file.FileStreamSinkTask"
    GUARANTEE: ClassVar = "exactly once: offsets stand in FILE.offsets, and unfinished lines are cut off"

    @classmethod
    def check(cls, config: Mapping[str, str]) -> list[tuple[str, str]]:
        if not config.get("file"):
            return [("file", "A worker on Spark has no standard output to write to: name a file")]
        return path_mistakes(config, "file")

    def task_configs(self, most: int) -> list[dict[str, str]]:
        """One: a file has one writer."""
        return [dict(self.config)]
