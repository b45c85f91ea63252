"""The server's side of change capture: publication, slot, what the catalog says of a table.

Changes are peeked at with `pg_logical_slot_peek_binary_changes`, which moves nothing: a batch may be read
again until its records are committed. Only then does the slot advance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import psycopg
from psycopg import sql

from penstock.connect.api.guards import allowed_host
from penstock.connect.errors import ConnectError, RetriableError

CONNECT_SECONDS: Final = 20
FETCH: Final = 5_000
_LSN: Final = "(%s::text)::pg_lsn"
_TABLES: Final = """
    SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%%'
    ORDER BY 1, 2"""
_COLUMNS: Final = """
    SELECT a.attname, a.attnotnull, a.atttypid::bigint, a.atttypmod,
           COALESCE(array_position(i.indkey::int2[], a.attnum), -1)
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
    WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    ORDER BY a.attnum"""
_LOOK: Final = """
    SELECT pg_current_wal_flush_lsn() - '0/0'::pg_lsn, confirmed_flush_lsn - '0/0'::pg_lsn, plugin, database
    FROM pg_replication_slots WHERE slot_name = %s"""
_PEEK: Final = """
    SELECT data FROM pg_logical_slot_peek_binary_changes(
        %s, NULL, %s, 'proto_version', '1', 'publication_names', %s)"""


class CatalogColumn(NamedTuple):
    name: str
    required: bool
    type_oid: int
    modifier: int
    key_place: int
    """Where it stands in the primary key; -1 if it does not."""


class Server:
    """One connection."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        allowed_host(config["database.hostname"])
        self._slot: str = config["slot.name"]
        self._publication: str = config["publication.name"]
        self.database: str = config["database.dbname"]
        try:
            self.connection = psycopg.connect(
                host=config["database.hostname"],
                port=config["database.port"],
                user=config["database.user"],
                password=config["database.password"],
                dbname=self.database,
                connect_timeout=CONNECT_SECONDS,
                sslmode=config["database.sslmode"],
                application_name="penstock connect",
                autocommit=True,
                options="-c timezone=UTC -c datestyle=ISO -c intervalstyle=postgres -c bytea_output=hex"
                " -c extra_float_digits=3",
            )
        except psycopg.OperationalError as error:
            raise RetriableError(f"PostgreSQL cannot be reached: {error}") from error

    def close(self) -> None:
        self.connection.close()

    # -- before anything is read

    def prepare(self, tables: Sequence[tuple[str, str]], mode: str) -> None:
        """Make the publication and the slot where they are missing."""
        if not self._asked("SELECT 1 FROM pg_publication WHERE pubname = %s", self._publication):
            self._publish(tables, mode)
        if not self.slot_exists():
            if self._asked("SHOW wal_level") != [("logical",)]:
                raise ConnectError("the server's wal_level must be logical")
            self._asked("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", self._slot)

    def _publish(self, tables: Sequence[tuple[str, str]], mode: str) -> None:
        if mode == "disabled":
            raise ConnectError(
                f"the publication {self._publication} is missing (publication.autocreate.mode=disabled)"
            )
        made = sql.SQL("CREATE PUBLICATION {}").format(sql.Identifier(self._publication))
        if mode == "all_tables":
            made += sql.SQL(" FOR ALL TABLES")
        elif tables:
            made += sql.SQL(" FOR TABLE ") + sql.SQL(", ").join(sql.Identifier(*each) for each in tables)
        self.connection.execute(made)

    def slot_exists(self) -> bool:
        found = self._asked(
            "SELECT plugin, database FROM pg_replication_slots WHERE slot_name = %s", self._slot
        )
        if found and found[0] != ("pgoutput", self.database):
            raise ConnectError(
                f"the slot {self._slot} is another's: {found[0][0]} of the database {found[0][1]}"
            )
        return bool(found)

    def look(self) -> tuple[int, int] | None:
        """Where the server's log ends, and up to where the slot was read; None if the slot is gone. One
        question: an idle connector asks it ten times a second."""
        found = self._asked(_LOOK, self._slot)
        if not found:
            return None
        position, confirmed, plugin, database = found[0]
        if (plugin, database) != ("pgoutput", self.database):
            raise ConnectError(f"the slot {self._slot} is another's: {plugin} of the database {database}")
        return int(position), int(confirmed)

    def confirmed(self) -> int:
        [(lsn,)] = self._asked(
            "SELECT confirmed_flush_lsn - '0/0'::pg_lsn FROM pg_replication_slots WHERE slot_name = %s",
            self._slot,
        )
        return int(lsn)

    def drop_slot(self) -> None:
        self._asked("SELECT pg_drop_replication_slot(%s)", self._slot)

    def tables(self) -> list[tuple[str, str]]:
        return [(schema, name) for schema, name in self._asked(_TABLES)]

    def columns(self, schema: str, table: str) -> list[CatalogColumn]:
        return [CatalogColumn(*row) for row in self._asked(_COLUMNS, schema, table)]

    # -- changes

    def has_changes(self) -> bool:
        return bool(
            self._asked(f"SELECT 1 FROM ({_PEEK}) changes LIMIT 1", self._slot, 1, self._publication_text())
        )

    def changes(self, most: int) -> Iterator[bytes]:
        """Messages of whole transactions, until so many rows have changed."""
        with _retriable(), self.connection.transaction():
            cursor = self.connection.cursor("changes", scrollable=False)
            cursor.itersize = FETCH
            cursor.execute(_PEEK, (self._slot, most, self._publication_text()), binary=True)
            for (data,) in cursor:
                yield data

    def advance(self, lsn: int) -> None:
        if lsn > self.confirmed():
            self._asked(f"SELECT pg_replication_slot_advance(%s, {_LSN})", self._slot, lsn_text(lsn))

    def run(self, statement: str) -> None:
        with _retriable():
            self.connection.execute(statement.encode())

    def _publication_text(self) -> str:
        return '"' + self._publication.replace('"', '""') + '"'

    def _asked(self, statement: str, *arguments: Any) -> list[Any]:
        with _retriable():
            cursor = self.connection.execute(statement, arguments or None)
            return cursor.fetchall() if cursor.description else []

    # -- snapshots

    def snapshot(
        self, schema: str, table: str, names: Sequence[str]
    ) -> Iterator[tuple[str, int] | list[Any]]:
        """First what the snapshot sees (`pg_current_snapshot`) and a position after it; then rows in
        portions, each value as text."""
        with _retriable(), self.connection.transaction():
            self.connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            [(seen,)] = self._asked("SELECT pg_current_snapshot()::text")
            [(position,)] = self._asked("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
            yield seen, int(position)
            if not names:
                return
            columns = sql.SQL(", ").join(sql.SQL("{}::text").format(sql.Identifier(name)) for name in names)
            wanted = sql.SQL("SELECT {} FROM {}").format(columns, sql.Identifier(schema, table))
            cursor = self.connection.cursor("rows", scrollable=False)
            cursor.execute(wanted)
            while rows := cursor.fetchmany(FETCH):
                yield rows


@contextmanager
def _retriable() -> Iterator[None]:
    """The server is gone, or a task that was killed still reads the slot."""
    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise RetriableError(str(error)) from error


def lsn_text(lsn: int) -> str:
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


_SEEN: Final = re.compile(r"(\d+):(\d+):([\d,]*)")


def sees(snapshot: str, xid: int) -> bool:
    """Whether a snapshot (`xmin:xmax:running,…`, of 64 bits) sees a transaction by its number of 32 bits."""
    found = _SEEN.fullmatch(snapshot)
    if found is None:
        raise ConnectError(f"{snapshot!r} is no snapshot")
    first, end = int(found[1]), int(found[2])
    full = first & ~0xFFFFFFFF | xid
    if full - first > 1 << 31:
        full -= 1 << 32
    elif first - full > 1 << 31:
        full += 1 << 32
    if full < first:
        return True
    return full < end and str(full) not in found[3].split(",")
