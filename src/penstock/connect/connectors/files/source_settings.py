"""Settings of the source of files, with the names of the Spool Dir connectors; and the folder they name."""

from __future__ import annotations

import codecs
import re
import shutil
from collections.abc import Mapping
from typing import Any, Final

from penstock.clock import SystemClock
from penstock.connect.api import ConfigDef, Importance, Kind
from penstock.connect.api.config_def import at_least, non_empty, one_of
from penstock.connect.api.guards import allowed_path
from penstock.connect.connectors.files.places import KEYS
from penstock.connect.connectors.files.reading import KINDS
from penstock.connect.connectors.files.stores import Found, Store
from penstock.connect.errors import ConfigError

_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
_TEXT, _FLAG = Kind.STRING, Kind.BOOLEAN


def _pattern(name: str, value: Any) -> None:
    try:
        re.compile(str(value))
    except re.error as error:
        raise ConfigError(name, value, f"It is no regular expression: {error}") from None


def _charset(name: str, value: Any) -> None:
    try:
        known = "a\n".encode(codecs.lookup(str(value)).name) == b"a\n"
    except LookupError:
        known = False
    if not known:
        raise ConfigError(name, value, "It must be a character set whose line ends are one byte")


def _character(name: str, value: Any) -> None:
    if len(character(str(value))) > 1:
        raise ConfigError(name, value, "It must be one character, or its number")


def character(text: str) -> str:
    """Spool Dir gives characters by their numbers; 0 is none."""
    if (text.isdigit() and len(text) > 1) or text == "0":
        return "" if int(text) == 0 else chr(int(text))
    return text


def _folder_name(name: str, value: Any) -> None:
    if ".." in str(value).split("/"):
        raise ConfigError(name, value, "It may not lead out of the store")


CONFIG: Final = (
    ConfigDef()
    .define("topic", _TEXT, importance=_HIGH, validator=non_empty, doc="The topic.")
    .define(
        "input.path", _TEXT, "", importance=_HIGH, validator=_folder_name,
        doc="The directory; with s3.bucket.name or hdfs.url, a folder there.",
    )
    .plus(KEYS)
    .define(
        "format", _TEXT, "auto", importance=_HIGH, validator=one_of("auto", *KINDS),
        recommended=("auto", *KINDS), doc="What the files are; auto goes by the ends of their names.",
    )
    .define(
        "input.file.pattern", _TEXT, ".*", importance=_HIGH, validator=_pattern,
        doc="A regular expression for the names of files. Names that begin with . or _ are never read.",
    )
    .define(
        "input.path.walk.recursively", _FLAG, False, importance=_LOW, doc="Whether folders inside are read.",
    )
    .define(
        "file.minimum.age.ms", Kind.LONG, 0, importance=_LOW, validator=at_least(0),
        doc="How long a file must have been left alone before it is read.",
    )
    .define("batch.size", Kind.INT, 1000, importance=_LOW, validator=at_least(1), doc="Records at a time.")
    .define(
        "empty.poll.wait.ms", Kind.LONG, 500, importance=_LOW, validator=at_least(1),
        doc="How long to wait before the folder is looked at again.",
    )
    .define(
        "cleanup.policy", _TEXT, "NONE", importance=_MEDIUM,
        validator=one_of("NONE", "DELETE", "MOVE", ignore_case=True),
        doc="What becomes of a file that is in the topic: it stays, is deleted, or moves to finished.path.",
    )
    .define(
        "finished.path", _TEXT, "", importance=_HIGH, validator=_folder_name,
        doc="Where files go that were read: a directory, or a folder of the store.",
    )
    .define(
        "error.path", _TEXT, "", importance=_HIGH, validator=_folder_name,
        doc="Where files go that cannot be read: a directory, or a folder of the store.",
    )
    .define(
        "halt.on.error", _FLAG, True, importance=_HIGH,
        doc="Whether the task fails at a file that cannot be read. Otherwise the rest of it is left out.",
    )
    .define(
        "schema.generation.key.fields", Kind.LIST, [], importance=_MEDIUM, doc="The fields of the key.",
    )
    .define(
        "metadata.location", _TEXT, "HEADERS", importance=_LOW, validator=one_of("HEADERS", "NONE"),
        doc="Whether headers say which file a record comes from.",
    )
    .define(
        "timestamp.mode", _TEXT, "PROCESS_TIME", importance=_MEDIUM,
        validator=one_of("PROCESS_TIME", "FILE_TIME"), doc="The time of records: now, or that of their file.",
    )
    .define("schema.generation.enabled", _FLAG, True, importance=_MEDIUM, doc="Accepted: schemas are made.")
    .define("csv.first.row.as.header", _FLAG, False, importance=_MEDIUM, doc="Whether it has the names.")
    .define(
        "csv.separator.char", _TEXT, ",", importance=_LOW, validator=_character, doc="Between two fields.",
    )
    .define("csv.quote.char", _TEXT, '"', importance=_LOW, validator=_character, doc="Around a field.")
    .define(
        "csv.escape.char", _TEXT, "", importance=_LOW, validator=_character,
        doc="Before a quote in a field. A doubled quote always is one.",
    )
    .define("csv.skip.lines", Kind.INT, 0, importance=_LOW, validator=at_least(0), doc="Rows to leave out.")
    .define(
        "csv.null.field.indicator", _TEXT, "NEITHER", importance=_LOW, validator=one_of("NEITHER", "BOTH"),
        doc="BOTH: an empty field is null.",
    )
    .define("csv.file.charset", _TEXT, "UTF-8", importance=_LOW, validator=_charset, doc="Their letters.")
    .define(
        "xml.record.element", _TEXT, "", importance=_MEDIUM,
        doc="The name of the elements that are records; without it, the children of the root.",
    )
)  # fmt: skip
UNSUPPORTED: Final = {
    "key.schema": "Schemas come from the files. Use Cast and schema.generation.key.fields.",
    "value.schema": "Schemas come from the files. Use Cast.",
    "schema.generation.key.name": "Use SetSchemaMetadata.",
    "schema.generation.value.name": "Use SetSchemaMetadata.",
    "parser.": "Use TimestampConverter.",
    "timestamp.field": "Use a transform.",
    "task.partitioner": "Files are spread by their names.",
    "files.sort.attributes": "Files are read in the order of their names.",
    "cleanup.policy.maintain.relative.path": "It is kept.",
    "cleanup.policy.prefix": "",
    "file.buffer.size.bytes": "",
    "csv.rfc.4180.parser.enabled": "",
    "csv.ignore.leading.whitespace": "",
    "csv.keep.carriage.return": "",
    "csv.strict.quotes": "",
    "csv.case.sensitive.field.names": "",
    "csv.verify.reader": "",
}


def with_store(config: Mapping[str, Any]) -> dict[str, Any]:
    """`input.path` alone is a directory of this machine."""
    if config.get("store.url") or config.get("hdfs.url") or config.get("s3.bucket.name"):
        return dict(config)
    path = str(config.get("input.path") or "")
    return {**config, "store.url": "file://" + path if path else "", "input.path": ""}


class SourceFolder:
    """The folder of a source."""

    def __init__(self, config: Mapping[str, str]) -> None:
        placed = with_store(config)
        given = CONFIG.parse(placed)
        for name in ("csv.separator.char", "csv.quote.char", "csv.escape.char"):
            given[name] = character(given[name])
        self.settings = given
        self._config = config
        self.store = Store(config, given)
        self._root: str = given["input.path"].strip("/")
        self._policy: str = given["cleanup.policy"].upper()
        self._pattern = re.compile(given["input.file.pattern"])
        local = f"{given['store.url'].removeprefix('file://').rstrip('/')}/" if self.store.is_local else ""
        self._away = [given[name].removeprefix(local).strip("/") for name in ("finished.path", "error.path")]

    @property
    def stays(self) -> bool:
        return self._policy == "NONE"

    def found(self) -> list[Found]:
        oldest = SystemClock().now_ms() - self.settings["file.minimum.age.ms"]
        recursive = self.settings["input.path.walk.recursively"]
        return [
            each
            for each in self.store.found(self._root, recursive=recursive)
            if each.modified_ms <= oldest and self._wanted(each.path)
        ]

    def _wanted(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        if name.startswith((".", "_")) or any(away and path.startswith(f"{away}/") for away in self._away):
            return False
        return self._pattern.fullmatch(name) is not None

    def clean(self, path: str, *, failed: bool) -> None:
        if failed and self.settings["error.path"]:
            self._move(path, "error.path")
        elif self._policy == "MOVE":
            self._move(path, "finished.path")
        elif self._policy == "DELETE":
            self.store.delete(path)

    def _move(self, path: str, setting: str) -> None:
        to: str = self.settings[setting]
        if not self.store.is_local:
            self.store.move(path, f"{to.strip('/')}/{path}")
            return
        target = allowed_path(self._config, to) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(self.store.local_path(path), target)
