"""Rows and changes as Debezium's records: before, after, source, op and time, keys, tombstones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from penstock import __version__
from penstock.connect.connectors.postgresql.pgoutput import UNCHANGED, Cell, Change, Relation
from penstock.connect.connectors.postgresql.values import Handling, blank, column_type, unavailable
from penstock.connect.data import schema as s
from penstock.connect.data.record import ConnectRecord, Header
from penstock.connect.data.schema import Schema
from penstock.connect.data.struct import SharedStruct, Struct

SOURCE: Final = s.struct_schema(
    {
        "version": s.STRING, "connector": s.STRING, "name": s.STRING, "ts_ms": s.INT64,
        "snapshot": Schema(
            s.Type.STRING, True, "false", "io.debezium.data.Enum", 1,
            parameters=(("allowed",
            "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"),),
            has_default=True,
        ),
        "db": s.STRING, "sequence": s.STRING.as_optional(), "ts_us": s.INT64.as_optional(),
        "ts_ns": s.INT64.as_optional(), "schema": s.STRING, "table": s.STRING, "txId": s.INT64.as_optional(),
        "lsn": s.INT64.as_optional(), "xmin": s.INT64.as_optional(),
    },
    name="io.debezium.connector.postgresql.Source",
)  # fmt: skip
_BLOCK: Final = s.struct_schema(
    {"id": s.STRING, "total_order": s.INT64, "data_collection_order": s.INT64}, name="event.block", version=1,
    optional=True,
)  # fmt: skip


@dataclass(frozen=True)
class Origin:
    """What all records of a connector say of where they come from."""

    name: str
    database: str
    handling: Handling
    tombstones: bool


@dataclass(frozen=True)
class Moment:
    """What all records of a transaction say."""

    commit_us: int
    now_ms: int
    xid: int | None
    lsn: int | None
    snapshot: str = "false"


class Column(NamedTuple):
    name: str
    oid: int
    schema: Schema
    decode: Callable[[str], Any]


class Table:
    """How rows of one form of a table become records."""

    def __init__(self, origin: Origin, relation: Relation, required: set[str], key: Sequence[str]) -> None:
        self.relation, self._origin = relation, origin
        full = f"{origin.name}.{relation.schema}.{relation.table}"
        self.topic = full
        self.name = f"{relation.schema}.{relation.table}"
        types = [column_type(each.type_oid, each.modifier, origin.handling) for each in relation.columns]
        self._names = [each.name for each in relation.columns]
        self._decodes = [each.decode for each in types]
        self._schemas = [
            kind.schema if name in required else kind.schema.as_optional()
            for name, kind in zip(self._names, types, strict=True)
        ]
        fields = dict(zip(self._names, self._schemas, strict=True))
        self.columns = [
            Column(each.name, each.type_oid, schema, decode)
            for each, schema, decode in zip(relation.columns, self._schemas, self._decodes, strict=True)
        ]
        self.key = [name for name in key if name in fields]
        self._last: tuple[Moment | None, SharedStruct] = (None, SharedStruct(SOURCE))
        self._row = s.struct_schema(fields, name=f"{full}.Value", optional=True)
        self.key_schema = (
            s.struct_schema({name: fields[name] for name in self.key}, name=f"{full}.Key")
            if self.key
            else None
        )
        self.schema = s.struct_schema(
            {
                "before": self._row,
                "after": self._row,
                "source": SOURCE,
                "transaction": _BLOCK,
                "op": s.STRING,
                "ts_ms": s.INT64.as_optional(),
                "ts_us": s.INT64.as_optional(),
                "ts_ns": s.INT64.as_optional(),
            },
            name=f"{full}.Envelope",
            version=2,
        )

    def read(self, cells: Sequence[Any], moment: Moment) -> ConnectRecord:
        """A row of a snapshot."""
        return self._event("r", None, self._values(cells), moment)

    def changed(self, change: Change, moment: Moment) -> list[ConnectRecord]:
        after = None if change.after is None else self._values(change.after, change.before)
        before = self._before(change)
        if change.kind == "I":
            return [self._event("c", None, after, moment)]
        if change.kind == "D":
            return self._deleted(before or {}, moment)
        assert after is not None
        if before is not None and self.key and any(before[name] != after[name] for name in self.key):
            return self._moved(before, after, moment)
        return [self._event("u", before if change.before_kind == "O" else None, after, moment)]

    def truncated(self, moment: Moment) -> ConnectRecord:
        return ConnectRecord(
            self.topic, value=self.envelope("t", None, None, moment), value_schema=self.schema
        )

    def _deleted(self, before: dict[str, Any], moment: Moment, *headers: Header) -> list[ConnectRecord]:
        event = self._event("d", before, None, moment, *headers)
        if not self._origin.tombstones or event.key is None:
            return [event]
        return [event, ConnectRecord(self.topic, key=event.key, key_schema=self.key_schema, headers=headers)]

    def _moved(self, before: dict[str, Any], after: dict[str, Any], moment: Moment) -> list[ConnectRecord]:
        """Another primary key: the old row is gone, and there is a new one."""
        old, new = self._key_of(before), self._key_of(after)
        gone = self._deleted(before, moment, Header("__debezium.newkey", new, self.key_schema))
        return [
            *gone,
            self._event("c", None, after, moment, Header("__debezium.oldkey", old, self.key_schema)),
        ]

    def _event(
        self,
        op: str,
        before: dict[str, Any] | None,
        after: dict[str, Any] | None,
        moment: Moment,
        *headers: Header,
    ) -> ConnectRecord:
        key = self._key_of(after if after is not None else before or {}) if self.key else None
        value = self.envelope(op, before, after, moment)
        return ConnectRecord(self.topic, None, key, self.key_schema, value, self.schema, headers=headers)

    def _key_of(self, row: dict[str, Any]) -> Struct:
        assert self.key_schema is not None
        return Struct(self.key_schema, {name: row.get(name) for name in self.key})

    def envelope(
        self, op: str, before: dict[str, Any] | None, after: dict[str, Any] | None, moment: Moment
    ) -> Struct:
        return Struct(
            self.schema,
            {
                "before": None if before is None else Struct(self._row, before),
                "after": None if after is None else Struct(self._row, after),
                "source": self._source(moment),
                "op": op,
                "ts_ms": moment.now_ms,
                "ts_us": moment.now_ms * 1000,
                "ts_ns": moment.now_ms * 1_000_000,
            },
        )

    def _source(self, moment: Moment) -> Struct:
        """The same for all records of a transaction."""
        if self._last[0] is not moment:
            self._last = (moment, self._source_of(moment))
        return self._last[1]

    def _source_of(self, moment: Moment) -> SharedStruct:
        return SharedStruct(
            SOURCE,
            {
                "version": __version__,
                "connector": "postgresql",
                "name": self._origin.name,
                "ts_ms": moment.commit_us // 1000,
                "snapshot": moment.snapshot,
                "db": self._origin.database,
                "ts_us": moment.commit_us,
                "ts_ns": moment.commit_us * 1000,
                "schema": self.relation.schema,
                "table": self.relation.table,
                "txId": moment.xid,
                "lsn": moment.lsn,
            },
        )

    def _values(self, cells: Sequence[Any], older: Sequence[Cell] | None = None) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for index, cell in enumerate(cells):
            if cell is UNCHANGED and older is not None:
                cell = older[index]  # REPLICA IDENTITY FULL has it
            if cell is None:
                values[self._names[index]] = None
            elif cell is UNCHANGED:
                values[self._names[index]] = unavailable(self._schemas[index], self._origin.handling)
            else:
                text = cell.decode() if isinstance(cell, bytes) else cell
                values[self._names[index]] = self._decodes[index](text)
        return values

    def _before(self, change: Change) -> dict[str, Any] | None:
        """The old row; of a row that is known by its key alone, the rest is null or blank."""
        if change.before is None:
            return None
        values = self._values(change.before)
        if change.before_kind == "K":
            for name, schema in zip(self._names, self._schemas, strict=True):
                if values[name] is None and not schema.optional:
                    values[name] = blank(schema)
        return values
