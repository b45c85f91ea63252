"""Lines of a file to a topic, as Kafka's FileStreamSource: the offset is the position in bytes after a line.

A line counts when its end has been written. A file that is not there yet is waited for. Without `file` Kafka
reads standard input, which a worker on Spark does not have: that is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import ClassVar, Final

from penstock.connect.api import ConfigDef, ConnectRecord, Importance, Kind
from penstock.connect.api.config_def import non_empty
from penstock.connect.api.guards import allowed_path, path_mistakes
from penstock.connect.api.source import (
    Place,
    SourceConnector,
    SourceOffsets,
    SourceRecord,
    SourceTask,
    TextPortion,
)
from penstock.connect.data import schema as s
from penstock.connect.errors import ConnectError

CHUNK_BYTES: Final = 1 << 20
LINE_BYTES_MAX: Final = 64 << 20
"""A file without line ends is no file of lines."""

_LINE: Final = re.compile(rb"([^\r\n]*)(?:\r\n|\n|\r)")
_POSITION: Final = "The value for the 'position' key in the offset"

CONFIG: Final = (
    ConfigDef()
    .define(
        "file",
        Kind.STRING,
        None,
        importance=Importance.HIGH,
        doc="Source filename. If not specified, the standard input will be used",
    )
    .define(
        "topic",
        Kind.STRING,
        importance=Importance.HIGH,
        doc="The topic to publish data to",
        validator=non_empty,
    )
    .define(
        "batch.size",
        Kind.INT,
        2000,
        importance=Importance.LOW,
        doc="The maximum number of records the source task can read from the file each time it is polled",
    )
)


class FileStreamSourceTask(SourceTask):
    def poll(self) -> Sequence[SourceRecord]:
        path, topic = self.config["file"], self.config["topic"]
        most = max(1, int(self.config.get("batch.size") or 2000))
        where = {"filename": path}
        position = int((self.offsets.get(where) or {}).get("position", 0))
        lines: list[SourceRecord] = []
        for line, after in _lines(allowed_path(self.config, path), position, most):
            record = ConnectRecord(topic, value=line, value_schema=s.STRING)
            lines.append(SourceRecord(where, {"position": after}, record))
        return lines

    def poll_text(self) -> TextPortion | None:
        path = self.config["file"]
        where = {"filename": path}
        position = int((self.offsets.get(where) or {}).get("position", 0))
        data = _chunk(allowed_path(self.config, path), position, CHUNK_BYTES)
        if not data or not _is_text(data):
            return None
        text = data
        if b"\r" in data:
            text = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        values = text[:-1].split(b"\n")
        return TextPortion(where, {"position": position + len(data)}, self.config["topic"], values)


def _chunk(path: Path, position: int, size: int) -> bytes:
    """Whole lines, about as many as make a chunk; nothing if there are none, or one is longer."""
    try:
        with path.open("rb") as file:
            file.seek(position)
            data = file.read(size)
    except FileNotFoundError:
        return b""
    return data[: _end_of_lines(data)]


def _end_of_lines(data: bytes) -> int:
    """Where the last whole line ends. As in Kafka, a carriage return ends a line, too. The very last byte may
    be the first half of an end of two."""
    feed, carriage = data.rfind(b"\n"), data.rfind(b"\r", 0, max(0, len(data) - 1))
    return max(feed, carriage) + 1


def _is_text(data: bytes) -> bool:
    """What is not UTF-8 has to be replaced, line by line."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _lines(path: Path, position: int, most: int) -> list[tuple[str, int]]:
    """Whole lines from a position, each with the position after it."""
    size = CHUNK_BYTES
    while not (data := _chunk(path, position, size)) and _is_longer(path, position + size):
        if size >= LINE_BYTES_MAX:
            raise ConnectError(f"a line of {path} is longer than {LINE_BYTES_MAX} bytes")
        size *= 2
    found = []
    for line in islice(_LINE.finditer(data), most):
        found.append((line[1].decode(errors="replace"), position + line.end()))
    return found


def _is_longer(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size > size
    except FileNotFoundError:
        return False


class FileStreamSource(SourceConnector):
    NAMES: ClassVar = ("org.apache.kafka.connect.file.FileStreamSourceConnector",)
    CONFIG: ClassVar = CONFIG
    TASK: ClassVar = FileStreamSourceTask
    TASK_NAME: ClassVar = "org.apache.kafka.connect.file.FileStreamSourceTask"
    POLL_MS: ClassVar = 200

    @classmethod
    def check(cls, config: Mapping[str, str]) -> list[tuple[str, str]]:
        if not config.get("file") and config.get("topic"):
            return [("file", "A worker on Spark has no standard input to read: name a file")]
        return path_mistakes(config, "file")

    def has_news(self, offsets: SourceOffsets) -> bool:
        path = self.config["file"]
        position = int((offsets.get({"filename": path}) or {}).get("position", 0))
        try:
            return os.stat(path).st_size > position
        except OSError:
            return False

    def check_offsets(self, changes: Sequence[tuple[Place, Place | None]]) -> None:
        for partition, offset in changes:
            if offset is None:
                continue
            if "position" not in offset:
                raise ConnectError("Offset objects should either be null or contain the key 'position'")
            position = offset["position"]
            if not isinstance(position, int) or isinstance(position, bool):
                raise ConnectError(f"{_POSITION} is expected to be a Long value")
            if position < 0:
                raise ConnectError(f"{_POSITION} should be a non-negative value")
            if "filename" not in partition:
                raise ConnectError("Partition objects should contain the key 'filename'")
