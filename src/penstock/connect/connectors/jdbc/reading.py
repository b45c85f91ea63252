"""What the JDBC source asks of a database, and rows as records. Names and values never become part of the
text of SQL unescaped; a query is the user's own."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from penstock.clock import SystemClock
from penstock.connect.api.source import Place, SourceOffsets, SourceRecord
from penstock.connect.connectors.jdbc.column_types import Column, column, in_utc
from penstock.connect.connectors.jdbc.cursor_types import columns_of_rows
from penstock.connect.connectors.jdbc.databases import Database, transient_as_retriable
from penstock.connect.data import schema as s
from penstock.connect.data.dates import EPOCH
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConnectError

_MICROSECOND: Final = dt.timedelta(microseconds=1)
_BOUND: Final = re.compile(r"(?<![:\w\\]):(?=\w)")
_QUERY: Final = "query"


@dataclass
class Source:
    """A table or a query that is read."""

    name: str
    place: Place
    topic: str
    body: Any
    """What stands after FROM."""
    columns: dict[str, Any]
    described: list[Column] | None
    """None where only the rows say what they hold."""
    incrementing: str | None
    stamps: list[str]


class Reader:
    """Of one task, in one batch."""

    def __init__(self, config: Mapping[str, str], settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._mode: str = settings["mode"]
        self._numeric: str = settings["numeric.mapping"] or (
            "precision_only" if settings["numeric.precision.mapping"] else "none"
        )
        self._database = Database(config)
        self._connection: sa.Connection | None = None
        self._started_ms = SystemClock().now_ms()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._database.close()

    # -- what is read

    def sources(self, wanted: Callable[[str], bool]) -> Iterator[Source]:
        with transient_as_retriable():
            self._connection = self._database.connect()
            if self._settings[_QUERY]:
                yield self._query()
                return
            inspector = sa.inspect(self._connection)
            schema = self._settings["schema.pattern"] or inspector.default_schema_name
            for name in self._names(inspector, schema):
                if wanted(name):
                    yield self._table(inspector, schema, name)

    def _names(self, inspector: Any, schema: str | None) -> list[str]:
        kinds = [kind.upper() for kind in self._settings["table.types"]]
        names = list(inspector.get_table_names(schema)) if "TABLE" in kinds else []
        if "VIEW" in kinds:
            names += inspector.get_view_names(schema)
        return sorted(name for name in names if self._chosen(schema, name))

    def _chosen(self, schema: str | None, name: str) -> bool:
        given, full = self._settings, f"{schema}.{name}"
        forms = {name, full, f"{self._database.name}.{full}"}
        includes, excludes = given["table.include.list"], given["table.exclude.list"]
        if any(re.fullmatch(each, full) for each in excludes) or forms & set(given["table.blacklist"]):
            return False
        if given["table.whitelist"]:
            return bool(forms & set(given["table.whitelist"]))
        return not includes or any(re.fullmatch(each, full) for each in includes)

    def _query(self) -> Source:
        text = sa.text(_BOUND.sub(r"\\:", self._settings[_QUERY]))
        incrementing, stamps = (
            self._settings["incrementing.column.name"],
            self._settings["timestamp.column.name"],
        )
        columns = {
            name: sa.column(self._database.identifier(name)) for name in (incrementing, *stamps) if name
        }
        body = text
        if self._mode != "bulk":
            body = sa.select(sa.text("*")).select_from(
                sa.text(f"({text.text}) AS {self._quoted('penstock_query')}")
            )
        return Source(
            _QUERY,
            {_QUERY: _QUERY},
            self._settings["topic.prefix"],
            body,
            columns,
            None,
            incrementing or None,
            stamps,
        )

    def _quoted(self, name: str) -> str:
        return str(self._database.engine.dialect.identifier_preparer.quote(name))

    def _table(self, inspector: Any, schema: str | None, name: str) -> Source:
        found = inspector.get_columns(name, schema)
        described = [
            column(each["name"], each["type"], each["nullable"], self._numeric, self._database.zone)
            for each in found
        ]
        safe = self._database.identifier
        parts = [sa.column(safe(each["name"]), each["type"]) for each in found]
        table = sa.table(safe(name), *parts, schema=safe(schema) if schema else None)
        incrementing = self._incrementing(inspector, schema, name, found)
        stamps = self._settings["timestamp.column.name"] if "timestamp" in self._mode else []
        self._check(name, found, [*([incrementing] if incrementing else []), *stamps])
        full = f"{self._database.name}.{schema}.{name}" if schema else name
        place = {"protocol": "1", "table": full}
        topic = f"{self._settings['topic.prefix']}{name}"
        columns = {each["name"]: part for each, part in zip(found, parts, strict=True)}
        return Source(
            name, place, topic, sa.select(*parts).select_from(table), columns, described, incrementing, stamps
        )

    def _incrementing(self, inspector: Any, schema: str | None, name: str, found: list[Any]) -> str | None:
        if "incrementing" not in self._mode:
            return None
        given = self._settings["incrementing.column.name"]
        if given:
            return str(given)
        keys = inspector.get_pk_constraint(name, schema)["constrained_columns"]
        whole = [
            each["name"] for each in found if each["name"] in keys and isinstance(each["type"], sa.Integer)
        ]
        if len(whole) != 1 or len(keys) != 1:
            raise ConnectError(
                f"{name} has no single primary-key column of whole numbers: give incrementing.column.name"
            )
        return str(whole[0])

    def _check(self, name: str, found: list[Any], needed: list[str]) -> None:
        nullable = {each["name"]: each["nullable"] for each in found}
        for each in needed:
            if each not in nullable:
                raise ConnectError(f"the table {name} has no column {each}")
        required = needed[:1] if self._mode == "timestamp" else needed
        if self._settings["validate.non.null"] and required and all(nullable[each] for each in required):
            raise ConnectError(
                f"Cannot make incremental queries using the columns {required} on {name} because they "
                f"are nullable "
                "(validate.non.null)"
            )

    def has_rows(self, offsets: SourceOffsets) -> bool:
        """Whether any table, or the query, has a row that was not read yet. One row at most is asked for."""
        for source in self.sources(lambda _: True):
            assert self._connection is not None
            statement = self._statement(source, offsets.get(source.place) or {}).limit(1)
            with transient_as_retriable():
                if self._connection.execute(statement).first() is not None:
                    return True
        return False

    # -- rows

    def portions(self, source: Source, offsets: SourceOffsets) -> Iterator[list[SourceRecord]]:
        """Records in portions, each of which may be the end of a batch."""
        assert self._connection is not None
        with transient_as_retriable():
            options = {"stream_results": True, "max_row_buffer": self._settings["batch.max.rows"]}
            statement = self._statement(source, offsets.get(source.place) or {})
            result = self._connection.execution_options(**options).execute(statement)
            try:
                yield from self._read(source, result)
            finally:
                result.close()

    def _read(self, source: Source, result: sa.CursorResult[Any]) -> Iterator[list[SourceRecord]]:
        most = self._settings["batch.max.rows"]
        names = list(map(str, result.keys()))
        description = result.cursor.description if result.cursor is not None else ()
        rows = result.fetchmany(most)
        described = source.described or columns_of_rows(
            self._database.dialect, description, rows, self._numeric, self._database.zone
        )
        schema = s.struct_schema(
            {each.name: each.schema for each in described},
            name=None if source.described is None else source.name,
        )
        while rows:
            if self._mode == "timestamp":  # rows of one moment have one offset: they must not be cut apart
                last = self._stamp(source, names, rows[-1])
                while (more := result.fetchone()) is not None:
                    rows.append(more)
                    if self._stamp(source, names, more) != last:
                        break
                kept = rows if more is None else rows[:-1]
                yield [self._record(source, schema, described, names, row) for row in kept]
                rows = [] if more is None else [more, *result.fetchmany(most)]
            else:
                yield [self._record(source, schema, described, names, row) for row in rows]
                rows = result.fetchmany(most)

    def _record(
        self, source: Source, schema: s.Schema, described: list[Column], names: list[str], row: Any
    ) -> SourceRecord:
        values = {
            each.name: value if value is None or each.reading is None else each.reading(value)
            for each, value in zip(described, row, strict=True)
        }
        record = ConnectRecord(source.topic, value=Struct(schema, values), value_schema=schema)
        return SourceRecord(source.place, self._offset(source, names, row), record)

    def _offset(self, source: Source, names: list[str], row: Any) -> dict[str, Any]:
        if self._mode == "bulk":
            return {"polled": self._started_ms}
        offset: dict[str, Any] = {}
        if source.incrementing:
            offset["incrementing"] = int(row[_index(names, source.incrementing)])
        if source.stamps:
            moment = self._stamp(source, names, row)
            micros = (moment - EPOCH) // _MICROSECOND
            offset |= {"timestamp": micros // 1000, "timestamp_nanos": micros % 1_000_000 * 1000}
        return offset

    def _stamp(self, source: Source, names: list[str], row: Any) -> dt.datetime:
        for name in source.stamps:
            value = row[_index(names, name)]
            if value is not None:
                if isinstance(value, str):  # SQLite's, in a query
                    value = dt.datetime.fromisoformat(value)
                return in_utc(value, self._database.zone)
        raise ConnectError(f"{source.name} gave a row without a timestamp")

    # -- conditions

    def _statement(self, source: Source, offset: Place) -> Any:
        suffix = _BOUND.sub(r"\\:", self._settings["query.suffix"])
        statement = source.body if self._mode == "bulk" else self._where(source, offset)
        if not suffix:
            return statement
        if isinstance(statement, sa.TextClause):
            return sa.text(f"{statement.text} {suffix}")
        return statement.suffix_with(sa.text(suffix))

    def _where(self, source: Source, offset: Place) -> Any:
        statement = source.body
        number = None if source.incrementing is None else source.columns[source.incrementing]
        if not source.stamps:
            assert number is not None
            if "incrementing" in offset:
                statement = statement.where(number > int(offset["incrementing"]))
            return statement.order_by(number)
        parts = [source.columns[name] for name in source.stamps]
        moment = parts[0] if len(parts) == 1 else sa.func.coalesce(*parts, type_=parts[0].type)
        begin = self._moment(offset, parts[0].type)
        end = self._end(parts[0].type)
        statement = statement.where(moment < end)
        if begin is None:
            return statement.order_by(moment) if number is None else statement.order_by(moment, number)
        if number is None:
            return statement.where(moment > begin).order_by(moment)
        after = sa.and_(moment == begin, number > int(offset.get("incrementing", -1)))
        return statement.where(sa.or_(after, moment > begin)).order_by(moment, number)

    def _moment(self, offset: Place, kind: Any) -> Any:
        if "timestamp" in offset:
            micros = int(offset["timestamp"]) * 1000 + int(offset.get("timestamp_nanos", 0)) // 1000 % 1000
            return self._bound(EPOCH + micros * _MICROSECOND, kind)
        first = self._settings["timestamp.initial"]
        if first is None:
            return None
        millis = SystemClock().now_ms() if first == -1 else first
        return self._bound(EPOCH + dt.timedelta(milliseconds=millis), kind)

    def _end(self, kind: Any) -> Any:
        delay = int(self._settings["timestamp.delay.interval.ms"])
        return self._bound(EPOCH + dt.timedelta(milliseconds=SystemClock().now_ms() - delay), kind)

    def _bound(self, moment: dt.datetime, kind: Any) -> Any:
        if getattr(kind, "timezone", False):
            return moment
        local = moment.astimezone(self._database.zone).replace(tzinfo=None)
        if self._database.dialect == "sqlite" and not isinstance(kind, sa.DateTime):
            return local.isoformat(" ")  # text, as SQLite's own functions write it
        return local


def _index(names: list[str], wanted: str) -> int:
    for index, name in enumerate(names):
        if name == wanted or name.lower() == wanted.lower():
            return index
    raise ConnectError(f"the query gives no column {wanted}")
