"""Records as operations of the bulk API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from penstock.connect.converters.json_converter import JsonConverter
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.struct import Struct
from penstock.connect.data.text import java_text
from penstock.connect.errors import DataError

_PLAIN: Final = JsonConverter({"schemas.enable": "false", "decimal.format": "NUMERIC"})
_FORBIDDEN: Final = frozenset('\\/*?"<>| ,#:')
ID_BYTES_MAX: Final = 512


class Operation(NamedTuple):
    """One operation, and the record it comes from."""

    record: ConnectRecord
    kind: str  # index, create, update, delete
    lines: bytes

    @property
    def size(self) -> int:
        return len(self.lines)


class Documents:
    """How the settings make operations of records."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._upserts = settings["write.method"].upper() == "UPSERT"
        self._nulls: str = settings["behavior.on.null.values"]

    def operation(self, record: ConnectRecord) -> Operation | None:
        """None for a record that is left out; DataError for one that has no form as a document."""
        ignores = self._ignores("key.ignore", record.topic)
        if record.value is None:
            return self._null(record, ignores)
        target: dict[str, Any] = {"_index": index_name(self._settings, record.topic), "_id": self._id(record)}
        if self._settings["data.stream.type"] != "none":
            return _made(record, "create", target, self._document(record))
        if self._upserts:
            body = b'{"doc":' + self._document(record) + b',"doc_as_upsert":true}'
            return _made(record, "update", {**target, "retry_on_conflict": 5}, body)
        if not ignores and not self._settings["external.version.off"]:
            # an older record that comes again does not take the place of a newer one
            target |= {"version": record.offset or 0, "version_type": "external"}
        return _made(record, "index", target, self._document(record))

    def _null(self, record: ConnectRecord, ignores: bool) -> Operation | None:
        if self._nulls == "ignore":
            return None
        if self._nulls == "fail":
            raise DataError("the record has no value (behavior.on.null.values=fail)")
        if ignores:
            raise DataError("a record without a value deletes by its key, and key.ignore is set")
        target: dict[str, Any] = {"_index": index_name(self._settings, record.topic), "_id": self._id(record)}
        if not self._upserts and not self._settings["external.version.off"]:
            target |= {"version": record.offset or 0, "version_type": "external"}
        return _made(record, "delete", target, None)

    def _ignores(self, name: str, topic: str) -> bool:
        if self._settings[name]:
            return True
        return topic in self._settings[f"topic.{name}"]

    def _id(self, record: ConnectRecord) -> str:
        """TOPIC+PARTITION+OFFSET without a key: the same record again is the same document."""
        if self._ignores("key.ignore", record.topic):
            return f"{record.topic}+{record.partition or 0}+{record.offset or 0}"
        if record.key is None or isinstance(record.key, (Struct, dict, list, bytes)):
            raise DataError("the key is no text and no number, and key.ignore is not set")
        found = java_text(record.key)
        if not 0 < len(found.encode()) <= ID_BYTES_MAX:
            raise DataError(f"the key has more than {ID_BYTES_MAX} bytes, or none")
        return found

    def _document(self, record: ConnectRecord) -> bytes:
        schema = None if self._ignores("schema.ignore", record.topic) else record.value_schema
        if not isinstance(record.value, (Struct, dict)):
            raise DataError("the value has no fields, which a document needs")
        found = _PLAIN.from_connect(schema if isinstance(record.value, Struct) else None, record.value)
        assert found is not None
        return found


def _made(record: ConnectRecord, kind: str, target: Mapping[str, Any], body: bytes | None) -> Operation:
    head = json.dumps({kind: target}, separators=(",", ":")).encode() + b"\n"
    return Operation(record, kind, head if body is None else head + body + b"\n")


def index_name(settings: Mapping[str, Any], topic: str) -> str:
    """DataError for a topic whose name no index can have."""
    kind = settings["data.stream.type"]
    given = settings["topic.to.external.resource.mapping"].get(topic)
    if given:
        found: str = given
    elif kind != "none":
        dataset = settings["data.stream.dataset"].replace("${topic}", topic.lower())
        found = f"{kind}-{dataset}-{settings['data.stream.namespace'].replace('${topic}', topic.lower())}"
    else:
        found = topic.lower()
    bad = found in ("", ".", "..") or found[0] in "-_+" or len(found.encode()) > 255
    if bad or found != found.lower() or any(each in _FORBIDDEN for each in found):
        raise DataError(f"{found!r} is no name of an index")
    return found
