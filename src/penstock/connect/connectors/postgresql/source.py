"""The connector and its task. An offset says how far the changes were read and which tables wait for a
snapshot.

    lsn       the end of the last transaction that was read as a whole
    events    how many changes of the next one were read: a long transaction may take several batches
    pending   tables whose rows are still to be read
    seen      for tables read since: which transactions their snapshot saw, and a position after it

A snapshot needs no lock and no exported snapshot. The slot exists before the table is read, so nothing is
missed; and a change that the table's snapshot saw already is recognised by the number of its transaction
and left out.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from penstock.clock import SystemClock
from penstock.connect.api.refusals import Mistakes, require
from penstock.connect.api.source import (
    EncodedPortion,
    JsonForms,
    Place,
    SourceConnector,
    SourceOffsets,
    SourceRecord,
    SourceTask,
)
from penstock.connect.connectors.postgresql import pgoutput
from penstock.connect.connectors.postgresql.encoding import OPERATIONS, Gathered, JsonRows, Written
from penstock.connect.connectors.postgresql.envelope import Moment, Origin, Table
from penstock.connect.connectors.postgresql.settings import CONFIG, captured, mistakes
from penstock.connect.connectors.postgresql.values import Handling
from penstock.connect.data import schema as s
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConnectError, RetriableError

if TYPE_CHECKING:
    from penstock.connect.connectors.postgresql.server import Server

CHANGES_MAX: Final = 50_000
"""After so many changed rows a batch ends with the transaction that reaches it."""
ADVANCE_BYTES: Final = 4 << 20
"""So much of the log that says nothing of our tables makes the slot move on by itself."""
HEARTBEAT: Final = s.struct_schema({"ts_ms": s.INT64}, name="io.debezium.connector.common.Heartbeat")
HEARTBEAT_KEY: Final = s.struct_schema(
    {"serverName": s.STRING}, name="io.debezium.connector.common.ServerNameKey"
)
log = logging.getLogger(__name__)


class PostgresTask(SourceTask):
    def __init__(self, settings: Mapping[str, str], offsets: SourceOffsets) -> None:
        super().__init__(settings, offsets)
        require("psycopg")
        self._settings = PostgresSource.CONFIG.parse(settings)
        self._place = {"server": self._settings["topic.prefix"]}
        self._at: dict[str, Any] = dict(offsets.get(self._place) or {})
        self.whole = not self._at or bool(self._at.get("pending"))
        self._server: Server | None = None
        self._portions: Iterator[list[SourceRecord] | Gathered] | None = None
        self._ahead: list[SourceRecord] | Gathered | None = None
        """Taken from the portions and not handed on yet."""
        self._forms: JsonForms | None = None
        self._tables: dict[int, Table] = {}
        self._origin = Origin(
            self._settings["topic.prefix"],
            self._settings["database.dbname"],
            Handling(
                self._settings["decimal.handling.mode"],
                self._settings["time.precision.mode"],
                self._settings["unavailable.value.placeholder"],
            ),
            self._settings["tombstones.on.delete"],
        )

    @property
    def in_transaction(self) -> bool:
        return bool(self._at.get("events"))

    def poll(self) -> Sequence[SourceRecord]:
        found = self._next()
        assert not isinstance(found, Gathered), "bytes are asked for before the first poll, or never"
        return found

    def poll_encoded(self, forms: JsonForms) -> Sequence[EncodedPortion]:
        if self._portions is None:
            self._forms = forms
        found = self._next()
        if isinstance(found, Gathered):
            return found.portions(self._place)
        self._ahead = found
        return ()

    def _next(self) -> list[SourceRecord] | Gathered:
        if self._ahead is not None:
            found, self._ahead = self._ahead, None
            return found
        if self._portions is None:
            self._portions = self._all()
        return next(self._portions, [])

    def close(self) -> None:
        if self._portions is not None:
            self._portions.close()  # type: ignore[attr-defined]
        if self._server is not None:
            self._server.close()

    def _all(self) -> Iterator[list[SourceRecord] | Gathered]:
        from penstock.connect.connectors.postgresql.server import Server

        server = self._server = Server(self._settings)
        if not self._at:
            yield [self._first(server)]
            return
        if self._at.get("pending"):
            yield from self._snapshot(server)
            return
        read = False
        for portion in self._stream(server):
            read = True
            yield portion
        if not read and self._settings["heartbeat.interval.ms"]:
            yield [self._heartbeat()]

    def _first(self, server: Server) -> SourceRecord:
        """Nothing but where it begins: the slot's position, and which tables are to be read."""
        tables = [
            f"{schema}.{name}" for schema, name in server.tables() if captured(self._settings, schema, name)
        ]
        reads = self._settings["snapshot.mode"] in ("initial", "initial_only")
        signals = self._settings["signal.data.collection"]
        pending = [name for name in tables if name != signals] if reads else []
        return SourceRecord(
            self._place, {"lsn": server.confirmed(), "events": 0, "pending": pending, "seen": {}}, None
        )

    # -- snapshot of one table

    def _snapshot(self, server: Server) -> Iterator[list[SourceRecord] | Gathered]:
        name, *others = self._at["pending"]
        schema, _, table_name = name.partition(".")
        found = server.columns(schema, table_name)
        columns = tuple(
            pgoutput.RelationColumn(each.name, each.key_place >= 0, each.type_oid, each.modifier)
            for each in found
        )
        table = self._described(pgoutput.Relation(0, schema, table_name, "d", columns), server)
        portions = server.snapshot(schema, table_name, [each.name for each in found])
        seen = next(portions)
        now = SystemClock().now_ms()
        moment = Moment(now * 1000, now, None, self._at["lsn"], "true" if others else "last")
        encoder = JsonRows(table, self._forms) if self._forms else None
        for rows in portions:
            assert isinstance(rows, list)
            if encoder is not None:
                gathered = Gathered()
                for row in rows:
                    gathered.add(Written(table.topic, encoder.read(row, moment)), self._at)
                yield gathered
                continue
            yield [SourceRecord(self._place, self._at, table.read(row, moment)) for row in rows]
        self._at = {**self._at, "pending": others, "seen": {**self._at.get("seen", {}), name: list(seen)}}
        yield [SourceRecord(self._place, self._at, None)]

    # -- changes

    def _stream(self, server: Server) -> Iterator[list[SourceRecord] | Gathered]:
        most = self._settings["max.batch.size"]
        reading = _Reading(self, server)
        gathered: list[SourceRecord] | Gathered = []
        for data in server.changes(CHANGES_MAX):
            found = reading.message(pgoutput.parse(data))
            if isinstance(found, Written):
                if isinstance(gathered, list):
                    if gathered:
                        yield gathered
                    gathered = Gathered()
                gathered.add(found, self._at)
            elif isinstance(gathered, list):
                gathered += found
            elif all(each.record is None for each in found):
                gathered.offset = self._at
            else:  # records with headers, among others that are bytes already
                yield gathered
                gathered = found
            if len(gathered) >= most:
                yield gathered
                gathered = []
            if self._at.get("pending"):  # a signal: the rows are read before anything later is
                break
        if len(gathered):
            yield gathered

    def _described(self, relation: pgoutput.Relation, server: Server) -> Table:
        found = server.columns(relation.schema, relation.table)
        key = [each.name for each in sorted(found, key=lambda each: each.key_place) if each.key_place >= 0]
        if not key and relation.identity in ("d", "i"):  # a table that is gone by now
            key = [each.name for each in relation.columns if each.in_identity]
        return Table(self._origin, relation, {each.name for each in found if each.required}, key)

    def _heartbeat(self) -> SourceRecord:
        topic = f"{self._settings['topic.heartbeat.prefix']}.{self._settings['topic.prefix']}"
        key = Struct(HEARTBEAT_KEY, {"serverName": self._settings["topic.prefix"]})
        value = Struct(HEARTBEAT, {"ts_ms": SystemClock().now_ms()})
        record = ConnectRecord(topic, key=key, key_schema=HEARTBEAT_KEY, value=value, value_schema=HEARTBEAT)
        return SourceRecord(self._place, self._at, record)


class _Reading:
    """One look at the slot: messages in, records out."""

    def __init__(self, task: PostgresTask, server: Server) -> None:
        self._task, self._server = task, server
        self._settings = task._settings
        self._skipped = set(self._settings["skipped.operations"])
        self._captured: dict[str, bool] = {}
        self._begin: pgoutput.Begin | None = None
        self._moment = Moment(0, 0, None, None)
        self._count = 0
        self._known = 0
        """Changes of this transaction that an earlier batch has written."""
        self._passed = False
        self._encoders: dict[int, JsonRows] = {}
        """By the number of the table, if records are to be bytes."""

    def message(self, message: pgoutput.Message) -> list[SourceRecord] | Written:
        match message:
            case pgoutput.Change() | pgoutput.Truncate():
                return self._changed(message)
            case pgoutput.Begin():
                self._begun(message)
            case pgoutput.Commit():
                return self._committed(message)
            case pgoutput.Relation():
                described = self._task._described(message, self._server)
                self._task._tables[message.oid] = described
                if self._task._forms is not None:
                    self._encoders[message.oid] = JsonRows(described, self._task._forms)
        return []

    def _begun(self, begin: pgoutput.Begin) -> None:
        at = self._task._at
        self._begin = begin
        self._passed = begin.final_lsn < at["lsn"]
        self._count, self._known = 0, 0 if self._passed else int(at.get("events", 0))
        self._moment = Moment(begin.commit_us, SystemClock().now_ms(), begin.xid, begin.final_lsn)

    def _changed(self, message: pgoutput.Change | pgoutput.Truncate) -> list[SourceRecord] | Written:
        self._count += 1
        if self._passed or self._count <= self._known:
            return []
        if isinstance(message, pgoutput.Change) and message.relation in self._encoders:
            written = self._written(self._task._tables[message.relation], message)
            if written is not None:
                if written.rows:
                    self._task._at = {**self._task._at, "events": self._count}
                return written if written.rows else []
        records: list[ConnectRecord] = []
        if isinstance(message, pgoutput.Truncate):
            for oid in message.relations:
                records += self._truncated(self._task._tables[oid])
        else:
            records = self._of_row(self._task._tables[message.relation], message)
        if not records:
            return []
        self._task._at = at = {**self._task._at, "events": self._count}
        return [SourceRecord(self._task._place, at, each) for each in records]

    def _written(self, table: Table, change: pgoutput.Change) -> Written | None:
        """The change as bytes; None if it has to go the longer way."""
        if table.name == self._settings["signal.data.collection"]:
            return None
        if self._left_out(table, change):
            return Written(table.topic, [])
        try:
            rows = self._encoders[change.relation].changed(change, self._moment)
        except (ConnectError, ValueError, TypeError, ArithmeticError):
            return None  # it fails there, too, and what is to be done then is known there
        return None if rows is None else Written(table.topic, rows)

    def _of_row(self, table: Table, change: pgoutput.Change) -> list[ConnectRecord]:
        if table.name == self._settings["signal.data.collection"] and change.kind == "I":
            self._signal(table.changed(change, self._moment)[0].value.get("after"))
        return [] if self._left_out(table, change) else table.changed(change, self._moment)

    def _left_out(self, table: Table, change: pgoutput.Change) -> bool:
        return OPERATIONS[change.kind] in self._skipped or self._hidden(table)

    def _truncated(self, table: Table) -> list[ConnectRecord]:
        if "t" in self._skipped or self._hidden(table):
            return []
        return [table.truncated(self._moment)]

    def _hidden(self, table: Table) -> bool:
        """Not captured, or in the table's snapshot already."""
        name = table.name
        seen = self._task._at.get("seen", {}).get(name)
        if seen is not None and self._begin is not None:
            from penstock.connect.connectors.postgresql.server import sees

            if sees(seen[0], self._begin.xid):
                return True
        if name not in self._captured:
            self._captured[name] = captured(self._settings, table.relation.schema, table.relation.table)
        return not self._captured[name]

    def _signal(self, row: Struct) -> None:
        """Debezium's signal table: id, type, data."""
        if row.get("type") != "execute-snapshot":
            log.warning("the signal %s is not known", row.get("type"))
            return
        try:
            wanted = [str(each) for each in json.loads(row.get("data") or "{}").get("data-collections", [])]
        except (ValueError, AttributeError):
            log.warning("the data of a signal is no JSON object")
            return
        known = {
            f"{schema}.{name}"
            for schema, name in self._server.tables()
            if captured(self._settings, schema, name)
        }
        self._pending = [name for name in wanted if name in known]
        if set(wanted) - known:
            log.warning(
                "a signal names tables that are not captured: %s", ", ".join(sorted(set(wanted) - known))
            )

    _pending: list[str] | None = None

    def _committed(self, commit: pgoutput.Commit) -> list[SourceRecord]:
        if self._passed:
            return []
        seen = {
            name: each for name, each in self._task._at.get("seen", {}).items() if each[1] >= commit.end_lsn
        }
        pending = [*self._task._at.get("pending", []), *(self._pending or [])]
        self._pending = None
        self._task._at = {"lsn": commit.end_lsn, "events": 0, "pending": pending, "seen": seen}
        return [SourceRecord(self._task._place, self._task._at, None)]


class PostgresSource(SourceConnector):
    NAMES: ClassVar = ("io.debezium.connector.postgresql.PostgresConnector",)
    CONFIG: ClassVar = CONFIG
    TASK: ClassVar = PostgresTask
    TASK_NAME: ClassVar = "io.debezium.connector.postgresql.PostgresConnectorTask"
    GUARANTEE: ClassVar = (
        "exactly once: the position in the server's log is committed with the records, and the slot moves "
        "after that"
    )
    DEFINES_TRANSACTIONS: ClassVar = True
    POLL_MS: ClassVar = 100

    def __init__(self, config: Mapping[str, str]) -> None:
        super().__init__(config)
        require("psycopg")
        self._settings = self.CONFIG.parse(config)
        self._place = {"server": self._settings["topic.prefix"]}
        self._server: Server | None = None
        self._empty_up_to = -1
        """The log says nothing of our tables up to here."""
        self._beat_at = SystemClock.monotonic()

    @classmethod
    def check(cls, config: Mapping[str, str]) -> Mistakes:
        return mistakes(config)

    def has_news(self, offsets: SourceOffsets) -> bool:
        at = offsets.get(self._place)
        try:
            return self._has_news(at)
        except RetriableError as error:
            log.warning("%s: %s; it is asked again", self._place["server"], error)
            self._drop()
            return False

    def _has_news(self, at: Place | None) -> bool:
        server = self._connected()
        if at is None:
            chosen = [each for each in server.tables() if captured(self._settings, *each)]
            signals = self._settings["signal.data.collection"]
            extra = [tuple(signals.split(".", 1))] if signals else []
            wanted = list(dict.fromkeys([*chosen, *extra]))
            server.prepare(wanted, self._settings["publication.autocreate.mode"])
            return True
        if at.get("pending") or at.get("events"):
            return True
        if self._settings["snapshot.mode"] == "initial_only":
            return False
        looked = server.look()
        if looked is None:
            raise ConnectError(
                f"the slot {self._settings['slot.name']} is gone, and with it the changes since this "
                f"connector ran. "
                "Reset its offsets, so that it takes a snapshot and makes a new slot"
            )
        position, confirmed = looked
        if confirmed < int(at["lsn"]):  # it may have lost what it knew, or missed to be told
            server.advance(int(at["lsn"]))
        if position != self._empty_up_to:
            if server.has_changes():
                return True
            self._empty_up_to = position
            if position - confirmed > ADVANCE_BYTES:
                server.advance(position)  # nothing up to there concerns us
        return self._heartbeat_due(server)

    def _heartbeat_due(self, server: Server) -> bool:
        interval = self._settings["heartbeat.interval.ms"] / 1000
        now = SystemClock.monotonic()
        if not interval or now - self._beat_at < interval:
            return False
        self._beat_at = now
        if self._settings["heartbeat.action.query"]:
            server.run(self._settings["heartbeat.action.query"])
        return True

    def committed(self, offsets: SourceOffsets) -> None:
        """The slot keeps what is not in topics yet, and no more."""
        at = offsets.get(self._place)
        if at is None:
            return
        try:
            self._connected().advance(int(at["lsn"]))
        except RetriableError as error:
            log.warning("the slot stays where it is: %s", error)
            self._drop()

    def check_offsets(self, changes: Sequence[tuple[Place, Place | None]]) -> None:
        for partition, offset in changes:
            if partition.keys() != {"server"}:
                raise ConnectError("Partition objects should contain the key 'server' and no other")
            if offset is not None and not isinstance(offset.get("lsn"), int):
                raise ConnectError(
                    "Offset objects should either be null or contain the key 'lsn' with a number"
                )

    def close(self) -> None:
        if self._settings["slot.drop.on.stop"] and self._server is not None:
            try:
                self._server.drop_slot()
            except Exception as error:
                log.warning("the slot was not dropped: %s", error)
        self._drop()

    def _connected(self) -> Server:
        from penstock.connect.connectors.postgresql.server import Server

        if self._server is None or self._server.connection.closed:
            self._server = Server(self._settings)
        return self._server

    def _drop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
