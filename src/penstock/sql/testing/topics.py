"""Topics of a case: the JSON of its records becomes bytes in a topic's format, and bytes become JSON."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from penstock.client.schema_registry import Schema
from penstock.expressions import types as t
from penstock.kernels.record import Windowed
from penstock.kernels.serdes import Serde, to_bytes
from penstock.plan.row_schemas import ColumnSchema, Format
from penstock.sql.lowering.sources import windowed
from penstock.sql.serdes.inference import SCHEMA_TYPES, infer_columns, is_bare
from penstock.sql.serdes.json_format import JsonCodec
from penstock.sql.serdes.schemas import MemorySchemas, subject_of
from penstock.sql.serdes.table import RowSerde, row_serde
from penstock.sql.sources import Catalogue, DataSource, KeyWindow
from penstock.sql.testing.cases import CaseRecord, CaseTopic, CaseWindow
from penstock.sql.testing.json_text import read_json, write_json

_REGISTERED: Final = ("AVRO", "JSON_SR", "PROTOBUF")


class Topics:
    """What a case's topics hold, and the registry beside them."""

    def __init__(self, given: Sequence[CaseTopic]) -> None:
        self.schemas = MemorySchemas()
        self.partitions = {topic.name: topic.partitions for topic in given}
        self._given: set[str] = set()
        """Subjects whose schemas the case gives; those of others come from the columns."""
        for topic in given:
            self._register(topic)

    def _register(self, topic: CaseTopic) -> None:
        sides = (
            (True, topic.key_schema, topic.key_format, topic.key_schema_id),
            (False, topic.value_schema, topic.value_format, topic.value_schema_id),
        )
        for is_key, schema, form, schema_id in sides:
            if schema is None:
                continue
            text = schema if isinstance(schema, str) else write_json(schema)
            kind = _schema_type(form, schema)
            subject = subject_of(topic.name, is_key=is_key)
            self._given.add(subject)
            self.schemas.register(subject, Schema(kind, text), schema_id)

    def serde_of(self, form: Format, columns: Sequence[ColumnSchema], is_key: bool) -> RowSerde:
        return row_serde(form, columns, is_key, self.schemas)

    def infer(self, form: Format, topic: str, is_key: bool) -> tuple[ColumnSchema, ...]:
        return infer_columns(form, topic, self.schemas, is_key=is_key)

    def encoded(self, record: CaseRecord, source: DataSource | None) -> tuple[bytes | None, bytes | None]:
        """Key and value of a record that goes in."""
        if source is None:
            return _text(record.key), _text(record.value)
        schema = source.schema
        key = self._side(record.key, record.topic, schema.key_format, schema.key, is_key=True)
        window = record.window
        if window is not None and key is not None:
            key = _with_window(key, window)
        return key, self._side(record.value, record.topic, schema.value_format, source.stored, is_key=False)

    def _side(
        self, value: Any, topic: str, form: Format, columns: tuple[ColumnSchema, ...], *, is_key: bool
    ) -> bytes | None:
        if value is None:
            return None
        match form.name:
            case "JSON":
                return write_json(value).encode()
            case "DELIMITED":
                return _plain(value).encode()
            case "NONE":
                return _plain(value).encode()
            case "KAFKA":
                if not columns:
                    return _plain(value).encode()
                serde = self.serde_of(form, columns, is_key)
                return to_bytes(serde, topic, _kafka(value, columns, is_key=is_key))
            case _:
                return self._registered(value, topic, form, columns, is_key=is_key)

    def _registered(
        self, value: Any, topic: str, form: Format, columns: tuple[ColumnSchema, ...], *, is_key: bool
    ) -> bytes | None:
        """A value of a format with a schema; the schema of the topic, where there is one, goes first."""
        subject = subject_of(topic, is_key=is_key)
        if form.name in _REGISTERED and subject in self._given:
            known = self.schemas.latest(subject)
            given = {**dict(form.properties), "schema_id": str(known.schema_id)}
            form = Format(form.name, tuple(sorted(given.items())), form.wrapped)
            columns = infer_columns(form, topic, self.schemas, is_key=is_key)
            form = Format(form.name, form.properties, not is_bare(columns))
        wrapped = form.wrapped or len(columns) != 1
        nested = bool(columns) and isinstance(columns[0].type, t.Struct | t.Map)
        if is_key and len(columns) == 1 and not nested:
            wrapped = isinstance(value, dict)  # a single key may be written with its name or without
        reading = JsonCodec(columns, "key" if is_key else "value", wrapped=wrapped)
        row = reading.decode(topic, write_json(value).encode())
        if row is None:
            return None
        serde = self.serde_of(form, columns, is_key)
        if is_key and len(columns) == 1:
            return to_bytes(serde, topic, row[0])
        return to_bytes(serde, topic, dict(zip((column.name for column in columns), row, strict=True)))

    def decoded(
        self, topic: str, key: bytes | None, value: bytes | None, source: DataSource | None
    ) -> tuple[Any, CaseWindow | None, Any]:
        """Key, window and value of a record that came out."""
        if source is None:
            return _as_json(key), None, _as_json(value)
        schema, window = source.schema, None
        if source.window is not None and key is not None:
            key, window = _without_window(key, source.window, topic)
        found = self._json(key, topic, schema.key_format, schema.key, is_key=True)
        return found, window, self._json(value, topic, schema.value_format, source.stored, is_key=False)

    def _json(
        self, data: bytes | None, topic: str, form: Format, columns: tuple[ColumnSchema, ...], *, is_key: bool
    ) -> Any:
        if data is None:
            return None
        match form.name:
            case "JSON":
                return read_json(data)
            case "DELIMITED":
                return data.decode()
            case _ if not columns:
                return data.decode()
        serde = self.serde_of(form, columns, is_key)
        found = serde.deserialize(topic, data)
        single = is_key and len(columns) == 1
        row = [found] if single else [None if found is None else found.get(column.name) for column in columns]
        bare = single or not form.wrapped
        text = JsonCodec(columns, "value", wrapped=not bare).encode(topic, row)
        return None if text is None else read_json(text)


def _schema_type(form: str | None, schema: Any) -> str:
    """The kind of a topic's schema: of its format, or what it looks like."""
    if form is not None and form.upper() in SCHEMA_TYPES:
        return SCHEMA_TYPES[form.upper()]
    if isinstance(schema, str) and ("message " in schema or "syntax" in schema):
        return "PROTOBUF"
    is_object = isinstance(schema, dict) and ("properties" in schema or schema.get("type") == "object")
    return "JSON" if is_object or (form or "").upper() == "JSON" else "AVRO"


class _Raw:
    """Bytes that stay bytes behind a window."""

    def serialize(self, topic: str, value: bytes) -> bytes:
        return value

    def deserialize(self, topic: str, data: bytes) -> bytes:
        return data


def _with_window(key: bytes, window: CaseWindow) -> bytes:
    size = None if window.is_session else window.end - window.start
    serde: Serde[Any] = windowed(_Raw(), KeyWindow("SESSION" if size is None else "TUMBLING", size))
    return serde.serialize("", Windowed(key, window.start, window.end))


def _without_window(key: bytes, window: KeyWindow, topic: str) -> tuple[bytes, CaseWindow]:
    found: Windowed = windowed(_Raw(), window).deserialize(topic, key)
    return found.key, CaseWindow(found.start, found.end, window.size_ms is None)


def source_by_topic(catalogue: Catalogue, topic: str) -> DataSource | None:
    """The source of a topic; the one that was made first, where there are several."""
    return next((source for source in catalogue.sources.values() if source.topic == topic), None)


def unwrapped_key(key: Any, source: DataSource | None) -> Any:
    """A key of one column without its name, which formats with records write."""
    if source is None or not isinstance(key, dict) or len(source.schema.key) != 1 or len(key) != 1:
        return key
    column = source.schema.key[0]
    if isinstance(column.type, t.Struct | t.Map) or next(iter(key)).upper() != column.name.upper():
        return key
    return next(iter(key.values()))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else write_json(value)


def _text(value: Any) -> bytes | None:
    return None if value is None else _plain(value).encode()


def _as_json(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return read_json(data)
    except ValueError:
        return data.decode(errors="replace")


def _kafka(value: Any, columns: tuple[ColumnSchema, ...], *, is_key: bool) -> Any:
    """A single column's value as Kafka's serialisers take it."""
    column = columns[0]
    if isinstance(value, dict):
        by_name = {str(name).upper(): item for name, item in value.items()}
        value = by_name.get(column.name.upper())
    if column.type == t.STRING and value is not None:
        value = _plain(value)
    elif column.type == t.DOUBLE and value is not None:
        value = float(value)
    elif column.type == t.BYTES and isinstance(value, str):
        value = b64decode(value)
    elif isinstance(value, Decimal | str):
        value = int(value)
    return value if is_key else {column.name: value}


def shown(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)
