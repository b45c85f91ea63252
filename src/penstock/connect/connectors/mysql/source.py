"""The connector and its task. A snapshot needs no lock on MariaDB: each table is read in one transaction
whose place in the log the server knows. The log is read from before the first of them, and changes that the
snapshot of a table saw are left out."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from penstock.clock import SystemClock
from penstock.connect.api.refusals import Mistakes, require
from penstock.connect.api.source import Place, SourceConnector, SourceOffsets, SourceRecord, SourceTask
from penstock.connect.connectors.mysql.columns import Handling
from penstock.connect.connectors.mysql.envelope import Moment, Origin, Table
from penstock.connect.connectors.mysql.settings import CONFIG, captured, mistakes
from penstock.connect.data import schema as s
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConnectError, RetriableError

if TYPE_CHECKING:
    from penstock.connect.connectors.mysql.server import Server

UNFRUITFUL_S: Final = 2.0
"""How long to wait when the log has grown by nothing that could be read."""
HEARTBEAT: Final = s.struct_schema({"ts_ms": s.INT64}, name="io.debezium.connector.common.Heartbeat")
HEARTBEAT_KEY: Final = s.struct_schema(
    {"serverName": s.STRING}, name="io.debezium.connector.common.ServerNameKey"
)
log = logging.getLogger(__name__)


class MySqlTask(SourceTask):
    def __init__(self, config: Mapping[str, str], offsets: SourceOffsets) -> None:
        super().__init__(config, offsets)
        require("pymysql", "pymysqlreplication")
        self._settings = CONFIG.parse(config)
        self._place = {"server": self._settings["topic.prefix"]}
        self._at: dict[str, Any] = dict(offsets.get(self._place) or {})
        self.whole = not self._at or bool(self._at.get("pending"))
        self._server: Server | None = None
        self._portions: Iterator[list[SourceRecord]] | None = None

    def poll(self) -> Sequence[SourceRecord]:
        if self._portions is None:
            self._portions = self._all()
        return next(self._portions, [])

    def close(self) -> None:
        if self._portions is not None:
            self._portions.close()  # type: ignore[attr-defined]
        if self._server is not None:
            self._server.close()

    def _all(self) -> Iterator[list[SourceRecord]]:
        from penstock.connect.connectors.mysql.server import Server

        server = self._server = Server(self._settings)
        if not self._at:
            yield [self._first(server)]
        elif self._at.get("pending"):
            yield from self._snapshot(server)
        else:
            began = self._at
            yield from self._stream(server)
            if self._at == began and self._settings["heartbeat.interval.ms"]:
                yield [self._heartbeat()]

    def _origin(self, server: Server) -> Origin:
        given = self._settings
        handling = Handling(
            given["decimal.handling.mode"],
            given["time.precision.mode"],
            given["bigint.unsigned.handling.mode"],
        )
        kind = "mariadb" if server.is_mariadb else "mysql"
        return Origin(given["topic.prefix"], kind, handling, given["tombstones.on.delete"])

    def _first(self, server: Server) -> SourceRecord:
        """Nothing but where it begins, and which tables are to be read."""
        server.check()
        at = server.position()
        reads = self._settings["snapshot.mode"] in ("initial", "initial_only")
        chosen = [f"{database}.{name}" for database, name in server.tables()
                  if captured(self._settings, database, name)]  # fmt: skip
        offset = {
            "file": at.file, "pos": at.pos, "gtids": server.gtids(at), "rows": 0,
            "pending": chosen if reads else [], "seen": {},
        }  # fmt: skip
        return SourceRecord(self._place, offset, None)

    def _snapshot(self, server: Server) -> Iterator[list[SourceRecord]]:
        from penstock.connect.connectors.mysql.server import Position

        name, *others = self._at["pending"]
        database, _, table_name = name.partition(".")
        columns = server.columns(database, table_name)
        seen = dict(self._at.get("seen", {}))
        if columns:  # otherwise it was dropped meanwhile
            table = Table(self._origin(server), database, table_name, columns)
            portions = server.snapshot(database, table_name, columns)
            at = next(portions)
            assert isinstance(at, Position)
            now = SystemClock().now_ms()
            last = "true" if others else "last"
            moment = Moment(now, now, server.server_id, at.file, at.pos, None, 0, last)
            for rows in portions:
                assert isinstance(rows, list)
                yield [SourceRecord(self._place, self._at, table.read(row, moment)) for row in rows]
            seen[name] = [at.file, at.pos]
        self._at = {**self._at, "pending": others, "seen": seen}
        yield [SourceRecord(self._place, self._at, None)]

    def _stream(self, server: Server) -> Iterator[list[SourceRecord]]:
        from penstock.connect.connectors.mysql.reading import Reading
        from penstock.connect.connectors.mysql.server import Position, errors

        reading = Reading(self._settings, self._origin(server), self._place, self._at)
        gathered: list[SourceRecord] = []
        with errors():
            stream = server.stream(Position(self._at["file"], self._at["pos"]), self._at.get("gtids") or "")
        try:
            while True:
                with errors():
                    event = stream.fetchone()
                if event is None:
                    break
                gathered += reading.event(event)
                if len(gathered) >= self._settings["max.batch.size"]:
                    self._at = reading.at
                    yield gathered
                    gathered = []
        finally:
            stream.close()
        gathered += reading.reached(stream.log_file, stream.log_pos)
        self._at = reading.at
        if gathered:
            yield gathered

    def _heartbeat(self) -> SourceRecord:
        prefix: str = self._settings["topic.prefix"]
        key = Struct(HEARTBEAT_KEY, {"serverName": prefix})
        value = Struct(HEARTBEAT, {"ts_ms": SystemClock().now_ms()})
        topic = f"{self._settings['topic.heartbeat.prefix']}.{prefix}"
        record = ConnectRecord(topic, key=key, key_schema=HEARTBEAT_KEY, value=value, value_schema=HEARTBEAT)
        return SourceRecord(self._place, self._at, record)


class MySqlSource(SourceConnector):
    NAMES: ClassVar = (
        "io.debezium.connector.mysql.MySqlConnector",
        "io.debezium.connector.mariadb.MariaDbConnector",
    )
    CONFIG: ClassVar = CONFIG
    TASK: ClassVar = MySqlTask
    TASK_NAME: ClassVar = "io.debezium.connector.mysql.MySqlConnectorTask"
    GUARANTEE: ClassVar = "exactly once: the position in the binary log is committed with the records"
    POLL_MS: ClassVar = 100

    def __init__(self, config: Mapping[str, str]) -> None:
        super().__init__(config)
        require("pymysql", "pymysqlreplication")
        self._settings = CONFIG.parse(config)
        self._place = {"server": self._settings["topic.prefix"]}
        self._server: Server | None = None
        self._beat_at = SystemClock.monotonic()
        self._tried: Any = None
        self._tried_at = 0.0

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> Mistakes:
        return mistakes(config)

    def has_news(self, offsets: SourceOffsets) -> bool:
        at = offsets.get(self._place)
        if at is None or at.get("pending"):
            return True
        if self._settings["snapshot.mode"] == "initial_only":
            return False
        try:
            position = self._connected().position()
        except RetriableError as error:
            log.warning("%s: %s; it is asked again", self._place["server"], error)
            self._drop()
            return False
        now = SystemClock.monotonic()
        if tuple(position) == (at["file"], at["pos"]):
            return self._heartbeat_due(now)
        if self._tried == (position, at) and now - self._tried_at < UNFRUITFUL_S:
            return False
        self._tried, self._tried_at = (position, at), now
        return True

    def _heartbeat_due(self, now: float) -> bool:
        interval = self._settings["heartbeat.interval.ms"] / 1000
        if not interval or now - self._beat_at < interval:
            return False
        self._beat_at = now
        return True

    def check_offsets(self, changes: Sequence[tuple[Place, Place | None]]) -> None:
        for partition, offset in changes:
            if partition.keys() != {"server"}:
                raise ConnectError("Partition objects should contain the key 'server' and no other")
            if offset is not None and not (
                offset.keys() >= {"file", "pos"} and isinstance(offset["pos"], int)
            ):
                raise ConnectError(
                    "Offset objects should either be null or contain the keys 'file' and 'pos', a number"
                )

    def close(self) -> None:
        self._drop()

    def _connected(self) -> Server:
        from penstock.connect.connectors.mysql.server import Server

        if self._server is None:
            self._server = Server(self._settings)
        return self._server

    def _drop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
