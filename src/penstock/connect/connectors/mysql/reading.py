"""Events of the binary log as records, each with the offset after it.

file, pos   the end of the last transaction that was read as a whole
gtids       MariaDB's numbers of transactions up to there
rows        how many rows of the next transaction were read: a long one may take several batches
pending     tables whose rows are still to be read
seen        for tables read since: the place in the log that their snapshot belongs to
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pymysqlreplication.event import MariadbGtidEvent, QueryEvent, RotateEvent, XidEvent
from pymysqlreplication.row_event import DeleteRowsEvent, TableMapEvent, UpdateRowsEvent, WriteRowsEvent

from penstock.clock import SystemClock
from penstock.connect.api.source import SourceRecord
from penstock.connect.connectors.mysql.columns import from_log
from penstock.connect.connectors.mysql.envelope import Moment, Origin, Table, schema_change
from penstock.connect.connectors.mysql.settings import captured
from penstock.connect.data.record import ConnectRecord
from penstock.connect.errors import ConnectError

_NO_CHANGE: Final = (
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT",
    "#",
    "FLUSH",
    "XA ",
    "GRANT",
    "REVOKE",
    "ANALYZE",
)


class Reading:
    """One look at the log: events in, records out."""

    def __init__(
        self, settings: Mapping[str, Any], origin: Origin, place: Mapping[str, str], at: dict[str, Any]
    ) -> None:
        self._settings, self._origin, self._place = settings, origin, place
        self.at = at
        self._skipped = set(settings["skipped.operations"])
        self._tables: dict[tuple[int, str], Table | None] = {}
        self._nullable: dict[int, bytes] = {}
        self._gtid: str | None = None
        self._count = 0
        self._known = int(at.get("rows", 0))
        self._file: str = at["file"]

    def event(self, event: Any) -> list[SourceRecord]:
        match event:
            case WriteRowsEvent() | UpdateRowsEvent() | DeleteRowsEvent():
                return self._rows(event)
            case TableMapEvent():
                self._nullable[event.table_id] = bytes(event.null_bitmask)
            case MariadbGtidEvent():
                self._gtid = str(event.gtid)
            case XidEvent():
                return self._ended(event)
            case QueryEvent():
                return self._statement(event)
            case RotateEvent():
                self._file = _text(event.next_binlog)
        return []

    def _moment(self, event: Any, row: int = 0) -> Moment:
        now = SystemClock().now_ms()
        number = int(getattr(event.packet, "server_id", 0) or 0)
        return Moment(event.timestamp * 1000, now, number, self._file, event.packet.log_pos, self._gtid, row)

    def _rows(self, event: Any) -> list[SourceRecord]:
        records: list[SourceRecord] = []
        table = None if self._hidden(event) else self._table(event)
        for number, row in enumerate(event.rows):
            self._count += 1
            if table is None or self._count <= self._known:
                continue
            made = self._changed(table, event, row, self._moment(event, number))
            if made:
                self.at = {**self.at, "rows": self._count}
            records += [SourceRecord(self._place, self.at, each) for each in made]
        return records

    def _changed(self, table: Table, event: Any, row: Any, moment: Moment) -> list[ConnectRecord]:
        match event:
            case WriteRowsEvent():
                return [] if "c" in self._skipped else table.created(row["values"], moment)
            case DeleteRowsEvent():
                return [] if "d" in self._skipped else table.deleted(row["values"], moment)
        if "u" in self._skipped:
            return []
        return table.updated(row["before_values"], row["after_values"], moment)

    def _hidden(self, event: Any) -> bool:
        """Not captured, or in the table's snapshot already."""
        if not captured(self._settings, event.schema, event.table):
            return True
        seen = self.at.get("seen", {}).get(f"{event.schema}.{event.table}")
        return seen is not None and (self._file, event.packet.log_pos) <= (seen[0], seen[1])

    def _table(self, event: Any) -> Table:
        key = (event.table_id, self._file)
        found = self._tables.get(key)
        if found is None:
            mask = self._nullable.get(event.table_id, b"")
            columns = [
                from_log(each, nullable=bool(mask[index // 8] >> index % 8 & 1) if mask else True)
                for index, each in enumerate(event.columns)
            ]
            if any(str(each.name).startswith("UNKNOWN_COL") for each in columns):
                raise ConnectError(
                    f"the binary log has no names of the columns of {event.schema}.{event.table}: it was "
                    "written when binlog_row_metadata was not FULL"
                )
            found = self._tables[key] = Table(self._origin, event.schema, event.table, columns)
        return found

    def _statement(self, event: Any) -> list[SourceRecord]:
        text = _text(event.query).strip()
        if text.upper().startswith("BEGIN"):
            return []
        if text.upper().startswith("COMMIT"):  # of a table without transactions
            return self._ended(event)
        database, made = _text(event.schema), []
        passed = self._passed(database, event)
        wanted = self._settings["include.schema.changes"] and captured(self._settings, database, None)
        if wanted and database and not passed and not text.upper().startswith(_NO_CHANGE):
            made = [schema_change(self._origin, database, text, self._moment(event))]
        ended = self._ended(event)
        return [*(SourceRecord(self._place, self.at, each) for each in made), *ended]

    def _passed(self, database: str, event: Any) -> bool:
        """Every snapshot was taken after it: nothing that follows needs it."""
        seen = [each for name, each in self.at.get("seen", {}).items() if name.startswith(f"{database}.")]
        here = (self._file, event.packet.log_pos)
        return bool(seen) and all(here <= (each[0], each[1]) for each in seen)

    def reached(self, file: Any, pos: Any) -> list[SourceRecord]:
        """The end of the log: events that say nothing of tables, such as those of a new file, are passed."""
        if (
            self._count
            or self._known
            or not file
            or (str(file), int(pos)) <= (self.at["file"], self.at["pos"])
        ):
            return []
        self.at = {**self.at, "file": str(file), "pos": int(pos)}
        return [SourceRecord(self._place, self.at, None)]

    def _ended(self, event: Any) -> list[SourceRecord]:
        here = (self._file, event.packet.log_pos)
        seen = {name: each for name, each in self.at.get("seen", {}).items() if (each[0], each[1]) > here}
        self.at = {
            **self.at, "file": here[0], "pos": here[1], "rows": 0, "seen": seen,
            "gtids": advanced(str(self.at.get("gtids") or ""), self._gtid),
        }  # fmt: skip
        self._count = self._known = 0
        return [SourceRecord(self._place, self.at, None)]


def advanced(gtids: str, gtid: str | None) -> str:
    """MariaDB's position: the last DOMAIN-SERVER-NUMBER of each domain."""
    if gtid is None:
        return gtids
    known = {each.partition("-")[0]: each for each in gtids.split(",") if each}
    return ",".join(sorted({**known, gtid.partition("-")[0]: gtid}.values()))


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
