"""Rows as Debezium's records: before, after, source, op and time, keys, tombstones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock import __version__
from penstock.connect.connectors.mysql.columns import Column, Handling, column_schema, column_value
from penstock.connect.data import schema as s
from penstock.connect.data.record import ConnectRecord, Header
from penstock.connect.data.schema import Schema
from penstock.connect.data.struct import Struct

_SNAPSHOT: Final = "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"
_BLOCK: Final = s.struct_schema(
    {"id": s.STRING, "total_order": s.INT64, "data_collection_order": s.INT64}, name="event.block", version=1,
    optional=True,
)  # fmt: skip
Row = Mapping[str, Any]


def source_schema(connector: str) -> Schema:
    return s.struct_schema(
        {
            "version": s.STRING, "connector": s.STRING, "name": s.STRING, "ts_ms": s.INT64,
            "snapshot": Schema(
                s.Type.STRING, True, "false", "io.debezium.data.Enum", 1,
                parameters=(("allowed", _SNAPSHOT),), has_default=True,
            ),
            "db": s.STRING, "sequence": s.STRING.as_optional(), "ts_us": s.INT64.as_optional(),
            "ts_ns": s.INT64.as_optional(), "table": s.STRING.as_optional(), "server_id": s.INT64,
            "gtid": s.STRING.as_optional(), "file": s.STRING, "pos": s.INT64, "row": s.INT32,
            "thread": s.INT64.as_optional(), "query": s.STRING.as_optional(),
        },
        name=f"io.debezium.connector.{connector}.Source",
    )  # fmt: skip


@dataclass(frozen=True)
class Origin:
    """What all records of a connector say of where they come from."""

    name: str
    connector: str  # mysql or mariadb
    handling: Handling
    tombstones: bool


@dataclass(frozen=True)
class Moment:
    """What the records of one event of the log say."""

    ts_ms: int
    now_ms: int
    server_id: int
    file: str
    pos: int
    gtid: str | None = None
    row: int = 0
    snapshot: str = "false"

    def source(self, origin: Origin, database: str, table: str | None) -> Struct:
        return Struct(
            source_schema(origin.connector),
            {
                "version": __version__, "connector": origin.connector, "name": origin.name,
                "ts_ms": self.ts_ms, "snapshot": self.snapshot, "db": database, "ts_us": self.ts_ms * 1000,
                "ts_ns": self.ts_ms * 1_000_000, "table": table, "server_id": self.server_id,
                "gtid": self.gtid, "file": self.file, "pos": self.pos, "row": self.row,
            },
        )  # fmt: skip


class Table:
    """How rows of one form of a table become records."""

    def __init__(self, origin: Origin, database: str, name: str, columns: Sequence[Column]) -> None:
        self._origin, self._database, self._name, self._columns = origin, database, name, columns
        full = self.topic = f"{origin.name}.{database}.{name}"
        fields = {each.name: column_schema(each, origin.handling) for each in columns}
        self._row = s.struct_schema(fields, name=f"{full}.Value", optional=True)
        key = {each.name: fields[each.name] for each in columns if each.in_key}
        self.key_schema = s.struct_schema(key, name=f"{full}.Key") if key else None
        self.schema = s.struct_schema(
            {
                "before": self._row, "after": self._row, "source": source_schema(origin.connector),
                "transaction": _BLOCK, "op": s.STRING, "ts_ms": s.INT64.as_optional(),
                "ts_us": s.INT64.as_optional(), "ts_ns": s.INT64.as_optional(),
            },
            name=f"{full}.Envelope", version=2,
        )  # fmt: skip

    def read(self, values: Sequence[Any], moment: Moment) -> ConnectRecord:
        """A row of a snapshot, in the order of the columns."""
        raw = {column.name: value for column, value in zip(self._columns, values, strict=True)}
        return self._event("r", None, self._struct(raw), moment)

    def created(self, row: Row, moment: Moment) -> list[ConnectRecord]:
        return [self._event("c", None, self._struct(row), moment)]

    def deleted(self, row: Row, moment: Moment, *headers: Header) -> list[ConnectRecord]:
        event = self._event("d", self._struct(row), None, moment, *headers)
        if not self._origin.tombstones or event.key is None:
            return [event]
        return [event, ConnectRecord(self.topic, key=event.key, key_schema=self.key_schema, headers=headers)]

    def updated(self, before: Row, after: Row, moment: Moment) -> list[ConnectRecord]:
        """Another primary key is a deletion and an insertion."""
        old, new = self._struct(before), self._struct(after)
        if self.key_schema is None or self._key(old) == self._key(new):
            return [self._event("u", old, new, moment)]
        gone = self.deleted(before, moment, Header("__debezium.newkey", self._key(new), self.key_schema))
        came = Header("__debezium.oldkey", self._key(old), self.key_schema)
        return [*gone, self._event("c", None, new, moment, came)]

    def _struct(self, row: Row) -> Struct:
        handling = self._origin.handling
        return Struct(
            self._row, {each.name: column_value(each, handling, row.get(each.name)) for each in self._columns}
        )

    def _key(self, row: Struct) -> Struct:
        assert self.key_schema is not None
        return Struct(self.key_schema, {each.name: row.get(each.name) for each in self.key_schema.fields})

    def _event(
        self, op: str, before: Struct | None, after: Struct | None, moment: Moment, *headers: Header
    ) -> ConnectRecord:
        row = after if after is not None else before
        key = self._key(row) if self.key_schema is not None and row is not None else None
        value = Struct(
            self.schema,
            {
                "before": before, "after": after,
                "source": moment.source(self._origin, self._database, self._name), "op": op,
                "ts_ms": moment.now_ms, "ts_us": moment.now_ms * 1000, "ts_ns": moment.now_ms * 1_000_000,
            },
        )  # fmt: skip
        return ConnectRecord(self.topic, None, key, self.key_schema, value, self.schema, headers=headers)


def schema_change(origin: Origin, database: str, statement: str, moment: Moment) -> ConnectRecord:
    """A statement that changed the schema, for the topic that has the connector's name."""
    package = f"io.debezium.connector.{origin.connector}"
    key = s.struct_schema({"databaseName": s.STRING}, name=f"{package}.SchemaChangeKey", version=1)
    schema = s.struct_schema(
        {
            "source": source_schema(origin.connector), "ts_ms": s.INT64,
            "databaseName": s.STRING.as_optional(), "schemaName": s.STRING.as_optional(),
            "ddl": s.STRING.as_optional(),
        },
        name=f"{package}.SchemaChangeValue", version=1,
    )  # fmt: skip
    value = Struct(
        schema,
        {
            "source": moment.source(origin, database, None), "ts_ms": moment.now_ms,
            "databaseName": database, "ddl": statement,
        },
    )  # fmt: skip
    return ConnectRecord(origin.name, None, Struct(key, {"databaseName": database}), key, value, schema)
