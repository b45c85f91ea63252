"""Files of a directory, a bucket or HDFS to a topic: CSV, JSON lines, lines of text, XML, Parquet and Avro.

The names and settings are those of the Spool Dir connectors. Each file is a source partition; its offset
says how many records of it were read. A file is taken for whole when it is found: write it under another
name, or elsewhere, and rename it.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from penstock.clock import SystemClock
from penstock.connect.api import ConnectRecord, Header
from penstock.connect.api.guards import path_mistakes
from penstock.connect.api.refusals import Mistakes, missing, unsupported
from penstock.connect.api.source import Place, SourceConnector, SourceOffsets, SourceRecord, SourceTask
from penstock.connect.connectors.files.places import place_mistakes
from penstock.connect.connectors.files.reading import ENDINGS, At, Item, items
from penstock.connect.connectors.files.source_settings import CONFIG, UNSUPPORTED, SourceFolder, with_store
from penstock.connect.connectors.files.stores import Found
from penstock.connect.data import schema as s
from penstock.connect.data.schema import Schema, Type
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConnectError, DataError

NUMBER: Final = "penstock.task.number"
COUNT: Final = "penstock.task.count"
log = logging.getLogger(__name__)


def begin_at(found: Found, known: Place | None, *, grows: bool) -> At | None:
    """Where to read on in a file; None when it was read to its end. `grows`: files stay where they are, so
    one that became larger was appended to. Otherwise a file with another time is another file."""
    if known is None:
        return At()
    same = known.get("modified") == found.modified_ms and known.get("size") == found.size
    at = At(int(known.get("offset", 0)), int(known.get("position", 0)))
    if same or not known.get("modified"):
        return None if known.get("done") else at
    if not grows:
        return At()
    return at if found.size > int(known.get("size") or 0) else None


class FilesSourceTask(SourceTask):
    def __init__(self, config: Mapping[str, str], offsets: SourceOffsets) -> None:
        super().__init__(config, offsets)
        self._folder = SourceFolder(config)
        self._given = self._folder.settings
        self._share = int(config.get(NUMBER, 0)), int(config.get(COUNT, 1))
        self._portions: Iterator[list[SourceRecord]] | None = None

    def poll(self) -> Sequence[SourceRecord]:
        if self._portions is None:
            self._portions = self._all()
        return next(self._portions, [])

    def _all(self) -> Iterator[list[SourceRecord]]:
        number, count = self._share
        for found in self._folder.found():
            if zlib.crc32(found.path.encode()) % count != number:
                continue
            place = {"fileName": found.path}
            at = begin_at(found, self.offsets.get(place), grows=self._folder.stays)
            if at is not None:
                yield from self._file(found, place, at)

    def _file(self, found: Found, place: Place, at: At) -> Iterator[list[SourceRecord]]:
        gathered: list[SourceRecord] = []
        noted = {"size": found.size, "modified": found.modified_ms}
        failed = False
        try:
            with self._folder.store.open(found.path) as file:
                for item in items(self._kind(found), file, at, self._given):
                    at = item.after
                    offset = {"offset": at.number, "position": at.position, **noted}
                    gathered.append(SourceRecord(place, offset, self._record(found, item)))
                    if len(gathered) >= self._given["batch.size"]:
                        yield gathered
                        gathered = []
        except DataError as error:
            if self._given["halt.on.error"]:
                if gathered:
                    yield gathered
                raise DataError(f"{found.path}: {error}") from error
            log.error("%s: %s. The rest of it is left out (halt.on.error=false)", found.path, error)
            failed = True
        end = {"offset": at.number, "position": at.position, **noted, "done": True}
        yield [*gathered, SourceRecord(place, {**end, "failed": True} if failed else end, None)]

    def _kind(self, found: Found) -> str:
        given: str = self._given["format"]
        if given != "auto":
            return given
        kind = ENDINGS.get(found.path.rpartition(".")[2].lower())
        if kind is None:
            raise DataError("its name does not say what it is: set format, or input.file.pattern")
        return kind

    def _record(self, found: Found, item: Item) -> ConnectRecord:
        key_schema, key = self._key(item)
        headers: tuple[Header, ...] = ()
        if self._given["metadata.location"] == "HEADERS":
            name = found.path.rpartition("/")[2]
            headers = (
                Header("file.name", name, s.STRING),
                Header("file.path", found.path, s.STRING),
                Header("file.length", found.size, s.INT64),
                Header("file.offset", item.after.number, s.INT64),
                Header("file.last.modified", found.modified_ms, s.INT64),
            )
        time = found.modified_ms if self._given["timestamp.mode"] == "FILE_TIME" else None
        return ConnectRecord(
            self._given["topic"], None, key, key_schema, item.value, item.schema, time, headers
        )

    def _key(self, item: Item) -> tuple[Schema | None, Any]:
        names = self._given["schema.generation.key.fields"]
        if not names:
            return None, None
        if item.schema is not None and item.schema.type is Type.STRUCT:
            if absent := [name for name in names if item.schema.field(name) is None]:
                raise DataError(f"there is no field {', '.join(absent)} for the key")
            fields = {each.name: each.schema for each in item.schema.fields if each.name in names}
            schema = s.struct_schema(fields)
            return schema, Struct(schema, {name: item.value.get(name) for name in names})
        if not isinstance(item.value, dict):
            raise DataError("a record without fields has no key")
        return None, {name: item.value.get(name) for name in names}


_SPOOL: Final = "com.github.jcustenborder.kafka.connect.spooldir.SpoolDir"


class FilesSource(SourceConnector):
    NAMES: ClassVar[tuple[str, ...]] = ("penstock.DirectorySourceConnector",)
    CONFIG: ClassVar = CONFIG
    TASK: ClassVar = FilesSourceTask
    GUARANTEE: ClassVar = "exactly once: how far each file was read is committed with the records"

    def __init__(self, config: Mapping[str, str]) -> None:
        super().__init__({**self.fixed(), **config})
        self._folder: SourceFolder | None = None
        self._next_look = 0.0

    @classmethod
    def fixed(cls) -> dict[str, str]:
        return {}

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> Mistakes:
        found = unsupported(config, UNSUPPORTED) + missing("pyarrow") + place_mistakes(with_store(config))
        found = [("input.path" if name == "store.url" else name, text) for name, text in found]
        if with_store(config).get("store.url", "").startswith("file://"):
            found += path_mistakes(config, "finished.path") + path_mistakes(config, "error.path")
        if str(config.get("cleanup.policy")).upper() == "MOVE" and not config.get("finished.path"):
            found.append(("finished.path", "cleanup.policy=MOVE needs it"))
        if str(config.get("halt.on.error")).lower() == "false" and not config.get("error.path"):
            found.append(("error.path", "halt.on.error=false needs it: files that cannot be read go there"))
        return found

    def task_configs(self, most: int) -> list[dict[str, str]]:
        return [{**self.config, NUMBER: str(number), COUNT: str(most)} for number in range(most)]

    def has_news(self, offsets: SourceOffsets) -> bool:
        now = SystemClock.monotonic()
        if now < self._next_look:
            return False
        folder = self._opened()
        files = [(found, offsets.get({"fileName": found.path})) for found in folder.found()]
        self._clean(folder, files)
        if any(begin_at(found, known, grows=folder.stays) is not None for found, known in files):
            return True
        self._next_look = now + folder.settings["empty.poll.wait.ms"] / 1000
        return False

    def committed(self, offsets: SourceOffsets) -> None:
        folder = self._opened()
        self._clean(folder, [(each, offsets.get({"fileName": each.path})) for each in folder.found()])

    def _clean(self, folder: SourceFolder, files: list[tuple[Found, Place | None]]) -> None:
        """Files that are in the topic for good leave the folder, where that is wanted."""
        for found, known in files:
            if known is None or not known.get("done"):
                continue
            if known.get("modified") == found.modified_ms and known.get("size") == found.size:
                folder.clean(found.path, failed=bool(known.get("failed")))

    def _opened(self) -> SourceFolder:
        if self._folder is None:
            self._folder = SourceFolder(self.config)
        return self._folder

    def check_offsets(self, changes: Sequence[tuple[Place, Place | None]]) -> None:
        for partition, offset in changes:
            if partition.keys() != {"fileName"}:
                raise ConnectError("Partition objects should contain the key 'fileName' and no other")
            if offset is not None and not isinstance(offset.get("offset"), int):
                raise ConnectError("Offset objects should either be null or contain the key 'offset'")


class SpoolDirCsvSource(FilesSource):
    NAMES: ClassVar = (f"{_SPOOL}CsvSourceConnector",)

    @classmethod
    def fixed(cls) -> dict[str, str]:
        return {"format": "csv"}


class SpoolDirJsonSource(FilesSource):
    NAMES: ClassVar = (f"{_SPOOL}SchemaLessJsonSourceConnector", f"{_SPOOL}JsonSourceConnector")

    @classmethod
    def fixed(cls) -> dict[str, str]:
        return {"format": "json"}


class SpoolDirLinesSource(FilesSource):
    NAMES: ClassVar = (f"{_SPOOL}LineDelimitedSourceConnector",)

    @classmethod
    def fixed(cls) -> dict[str, str]:
        return {"format": "lines"}
