"""What is asked of a MariaDB or MySQL server: settings, tables, positions, snapshots, and the binary log."""

from __future__ import annotations

import ssl
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import pymysql
from pymysql.cursors import SSCursor
from pymysqlreplication import BinLogStreamReader

from penstock.connect.api.guards import allowed_address
from penstock.connect.connectors.mysql.columns import Column, from_catalog
from penstock.connect.errors import ConnectError, RetriableError

FETCH: Final = 2_000
_PURGED: Final = 1236
_REFUSED: Final = (1044, 1045, 1142, 1227, 1698)
_TABLES: Final = (
    "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' "
    "ORDER BY table_schema, table_name"
)
_COLUMNS: Final = (
    "SELECT column_name, data_type, column_type, is_nullable, column_key, numeric_precision, numeric_scale, "
    "datetime_precision FROM information_schema.columns WHERE table_schema = %s AND table_name = %s "
    "ORDER BY ordinal_position"
)
_NEEDED: Final = {
    "log_bin": "1",
    "binlog_format": "ROW",
    "binlog_row_image": "FULL",
    "binlog_row_metadata": "FULL",
}


class Position(NamedTuple):
    """A place in the binary log; in order, because names of files are numbered."""

    file: str
    pos: int


class Server:
    """One connection."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        allowed_address(f"//{settings['database.hostname']}")
        with errors():
            self._connection = pymysql.connect(**self._where())
        [(version, number)] = self.asked("SELECT @@version, @@server_id")
        self.is_mariadb = "mariadb" in str(version).lower()
        self.server_id = int(number)
        self.asked("SET time_zone = '+00:00'")

    def _where(self) -> dict[str, Any]:
        given = self._settings
        where = {
            "host": given["database.hostname"], "port": given["database.port"],
            "user": given["database.user"], "password": given["database.password"] or "",
            "charset": "utf8mb4", "autocommit": True,
            "connect_timeout": max(1, given["connect.timeout.ms"] // 1000),
        }  # fmt: skip
        if given["database.ssl.mode"] in ("required", "verify_identity"):
            context = ssl.create_default_context()
            if given["database.ssl.mode"] == "required":
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            where["ssl"] = context
        return where

    def close(self) -> None:
        if self._connection.open:
            self._connection.close()

    def asked(self, statement: str, *arguments: Any) -> list[tuple[Any, ...]]:
        with errors(), self._connection.cursor() as cursor:
            cursor.execute(statement, arguments or None)
            return list(cursor.fetchall())

    def check(self) -> None:
        """ConnectError when the binary log does not hold what is needed."""
        for name, wanted in _NEEDED.items():
            [(found,)] = self.asked(f"SELECT @@{name}")
            if str(found).upper() != wanted:
                raise ConnectError(f"the server's {name} is {found}; change capture needs {wanted}")

    def tables(self) -> list[tuple[str, str]]:
        return [(str(database), str(name)) for database, name in self.asked(_TABLES)]

    def columns(self, database: str, table: str) -> list[Column]:
        return [from_catalog(tuple(map(_text, row))) for row in self.asked(_COLUMNS, database, table)]

    def position(self) -> Position:
        try:
            found = self.asked("SHOW MASTER STATUS")
        except ConnectError:  # MySQL 8.4 has another word for it
            found = self.asked("SHOW BINARY LOG STATUS")
        if not found:
            raise ConnectError("the server has no binary log (log_bin)")
        return Position(str(found[0][0]), int(found[0][1]))

    def gtids(self, at: Position) -> str:
        """MariaDB's numbers of transactions up to a place. MySQL is read on by file and position."""
        if not self.is_mariadb:
            return ""
        [(found,)] = self.asked("SELECT BINLOG_GTID_POS(%s, %s)", at.file, at.pos)
        return str(found or "")

    def snapshot(self, database: str, table: str, columns: list[Column]) -> Iterator[Position | list[Any]]:
        """First the place in the log that the snapshot belongs to, then rows in portions."""
        at = self._begin()
        try:
            yield at
            names = ", ".join(_quoted(each.name) for each in columns)
            with errors(), self._connection.cursor(SSCursor) as cursor:
                cursor.execute(f"SELECT {names} FROM {_quoted(database)}.{_quoted(table)}")
                while rows := cursor.fetchmany(FETCH):
                    yield list(rows)
        finally:
            if self._connection.open:
                self.asked("ROLLBACK")

    def _begin(self) -> Position:
        self.asked("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        if self.is_mariadb:  # it knows the place of a snapshot, and needs no lock
            self.asked("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
            found = {str(k).lower(): v for k, v in self.asked("SHOW STATUS LIKE 'binlog_snapshot_%'")}
            return Position(str(found["binlog_snapshot_file"]), int(found["binlog_snapshot_position"]))
        self.asked("FLUSH TABLES WITH READ LOCK")
        try:
            self.asked("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
            return self.position()
        finally:
            self.asked("UNLOCK TABLES")

    def stream(self, at: Position, gtids: str) -> Any:
        """Events up to the end of the log. By MariaDB's numbers where they are known: they hold on a
        replica, too, whose files are others."""
        number = self._settings["database.server.id"]
        number = number or 5400 + zlib.crc32(self._settings["topic.prefix"].encode()) % 100_000
        where = {key: value for key, value in self._where().items() if key != "autocommit"}
        by_number = bool(gtids) and self.is_mariadb
        begin = {"auto_position": gtids} if by_number else {"log_file": at.file, "log_pos": at.pos}
        return BinLogStreamReader(
            connection_settings=where, server_id=number, blocking=False, resume_stream=True,
            is_mariadb=by_number, enable_logging=False, **begin,
        )  # fmt: skip


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


@contextmanager
def errors() -> Iterator[None]:
    try:
        yield
    except pymysql.err.OperationalError as error:
        code = error.args[0] if error.args else 0
        if code in _REFUSED:
            raise ConnectError(f"the server refuses it: {error.args[-1]}") from error
        if code == _PURGED:
            raise _gone(error) from error
        raise RetriableError(f"the server cannot be reached: {error}") from error
    except pymysql.err.InterfaceError as error:
        raise RetriableError(f"the server cannot be reached: {error}") from error
    except pymysql.err.MySQLError as error:
        if error.args and error.args[0] == _PURGED:
            raise _gone(error) from error
        raise ConnectError(f"the server: {error}") from error


def _gone(error: Exception) -> ConnectError:
    return ConnectError(
        f"the binary log does not reach back to where this connector was ({error.args[-1]}). Reset its "
        "offsets, so that it takes a snapshot"
    )
