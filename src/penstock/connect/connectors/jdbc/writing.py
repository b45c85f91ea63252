"""What the JDBC sink does to a database: one transaction for each batch, done again if the server was gone.

Tables are made and changed before the first row of a batch: MariaDB would commit rows that were written
before, and a second connection would wait for them.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.mysql import insert as mysql_insert
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.exc import DBAPIError

from penstock.connect.connectors.jdbc.databases import Database, passing
from penstock.connect.connectors.jdbc.offset_table import OffsetTable
from penstock.connect.connectors.jdbc.rows import Rows, Shape
from penstock.connect.connectors.jdbc.sink import INSERT, OFFSETS_TABLE, UPDATE
from penstock.connect.connectors.jdbc.tables import Tables
from penstock.connect.data.record import ConnectRecord
from penstock.connect.errors import ConnectError, RetriableError
from penstock.protocol.topic_partition import TopicPartition

log = logging.getLogger(__name__)
_INSERTS = {"mysql": mysql_insert, "postgresql": postgresql_insert, "sqlite": sqlite_insert}


class Writer:
    """Of one task, for one batch."""

    def __init__(self, config: Mapping[str, str], settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._mode: str = settings["insert.mode"].lower()
        self._database = Database(config)
        self._rows = Rows(settings, self._database.zone)
        self._tables = Tables(self._database, settings)
        named = settings["penstock.offsets.table"] or (OFFSETS_TABLE if self._mode == INSERT else "")
        self._offsets = OffsetTable(self._database, named, config.get("name", "")) if named else None
        self._connection: sa.Connection | None = None
        self._partitions: Collection[TopicPartition] = ()
        self._begun: Mapping[TopicPartition, int] = {}

    def begin(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._partitions = partitions
        self._begun = self._retried(self._locked)
        return self._begun

    def write(self, records: Sequence[ConnectRecord], ends: Mapping[TopicPartition, int]) -> None:
        grouped = list(self._grouped(records))
        self._retried(lambda: self._written(grouped, ends))

    def close(self) -> None:
        self._drop()
        self._database.close()

    def _locked(self) -> Mapping[TopicPartition, int]:
        connection = self._connection = self._opened()
        if self._offsets is None:
            return {}
        return self._offsets.locked(connection, self._partitions)

    def _opened(self) -> sa.Connection:
        return self._database.connect().execution_options(writes=True)

    def _written(
        self, grouped: list[tuple[Shape, list[dict[str, Any]]]], ends: Mapping[TopicPartition, int]
    ) -> None:
        if self._connection is None:  # the server was gone: what it has now decides
            found = self._locked()
            if self._offsets is not None and found == dict(ends):
                return  # the commit had reached it, and its answer was lost
            if found != self._begun:
                raise ConnectError("another task has written these partitions meanwhile")
        connection = self._connection
        assert connection is not None
        tables = self._tables.prepared(connection, [shape for shape, _ in grouped])
        for shape, rows in grouped:
            self._apply(connection, shape, tables[shape.table], rows)
        if self._offsets is not None:
            self._offsets.store(connection, ends)
        connection.commit()
        self._drop()

    def _grouped(self, records: Iterable[ConnectRecord]) -> Iterable[tuple[Shape, list[dict[str, Any]]]]:
        """Rows of one shape that follow each other, in the order of the records."""
        shape, rows = None, []
        most = self._settings["batch.size"]
        for record in records:
            own, values = self._rows.of(record)
            if shape is not None and (own is not shape or len(rows) >= most):
                yield shape, rows
                rows = []
            shape = own
            rows.append(values)
        if shape is not None and rows:
            yield shape, rows

    def _apply(
        self, connection: sa.Connection, shape: Shape, table: sa.Table, rows: list[dict[str, Any]]
    ) -> None:
        names = [(f"v{index}", name) for index, name in enumerate(shape.names)]
        arguments = [{key: row[name] for key, name in names} for row in rows]
        values = {name: sa.bindparam(f"v{index}") for index, name in enumerate(shape.names)}
        same_key = sa.and_(*(table.c[name] == values[name] for name in shape.key))
        if shape.is_delete:
            connection.execute(sa.delete(table).where(same_key), arguments)
        elif self._mode == UPDATE:
            changed = {name: value for name, value in values.items() if name not in shape.key}
            connection.execute(sa.update(table).where(same_key).values(changed), arguments)
        elif self._mode == INSERT:
            connection.execute(sa.insert(table).values(values), arguments)
        else:
            connection.execute(self._upsert(shape, table, values), arguments)

    def _upsert(self, shape: Shape, table: sa.Table, values: dict[str, Any]) -> Any:
        others = [name for name in shape.names if name not in shape.key]
        statement: Any = _INSERTS[self._database.dialect](table).values(values)
        if self._database.dialect == "mysql":
            changed = {name: statement.inserted[name] for name in others or shape.key}
            return statement.on_duplicate_key_update(changed)
        keys = [table.c[name] for name in shape.key]
        if not others:
            return statement.on_conflict_do_nothing(index_elements=keys)
        return statement.on_conflict_do_update(
            index_elements=keys, set_={name: statement.excluded[name] for name in others}
        )

    def _retried(self, operation: Any) -> Any:
        most, pause_s = self._settings["max.retries"], self._settings["retry.backoff.ms"] / 1000
        for attempt in range(most + 1):
            try:
                return operation()
            except (DBAPIError, RetriableError) as error:
                self._drop()
                if not passing(error) or attempt == most:
                    raise ConnectError(_short(error)) from None
                log.warning(
                    "the database refused a batch, attempt %d of %d: %s", attempt + 1, most, _short(error)
                )
                self._database.pause(pause_s)
        raise AssertionError

    def _drop(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            try:
                connection.close()
            except DBAPIError as error:
                log.debug("closing: %s", error)


def _short(error: Exception) -> str:
    """Without the statement's values: they are the users' data."""
    if isinstance(error, DBAPIError):
        return f"{type(error.orig).__name__}: {error.orig}"
    return str(error)
