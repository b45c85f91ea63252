"""Tables of the sink: looked up, made (`auto.create`) and given further columns (`auto.evolve`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateColumn, CreateTable

from penstock.connect.connectors.jdbc.column_types import sql_type, sql_value
from penstock.connect.connectors.jdbc.databases import Database
from penstock.connect.connectors.jdbc.rows import Shape
from penstock.connect.data.schema import Schema
from penstock.connect.errors import ConnectError

_MYSQL_COLUMNS: Final = sa.text(
    "SELECT column_name FROM information_schema.columns "
    "WHERE table_schema = COALESCE(:schema, DATABASE()) AND table_name = :table"
)


class Tables:
    def __init__(self, database: Database, settings: Mapping[str, Any]) -> None:
        self._database = database
        self._creates: bool = settings["auto.create"]
        self._evolves: bool = settings["auto.evolve"]

    def prepared(self, connection: sa.Connection, shapes: Iterable[Shape]) -> dict[str, sa.Table]:
        """The tables of all shapes, with all columns that they need."""
        wanted: dict[str, dict[str, Schema]] = {}
        keys: dict[str, tuple[str, ...]] = {}
        for shape in shapes:
            known = wanted.setdefault(shape.table, {})
            if not shape.is_delete:
                known |= {name: schema for name, schema in shape.columns if name not in known}
            else:
                known |= {
                    name: schema for name, schema in shape.columns if name in shape.key and name not in known
                }
            keys[shape.table] = shape.key
        return {
            name: self._prepared(connection, name, keys[name], columns) for name, columns in wanted.items()
        }

    def _prepared(
        self, connection: sa.Connection, name: str, key: tuple[str, ...], columns: dict[str, Schema]
    ) -> sa.Table:
        schema, table_name = self._split(name)
        described = self._table(schema, table_name, key, columns)
        found = self._columns(connection, schema, table_name)
        if found is None:
            if not self._creates:
                raise ConnectError(f"Table {name} is missing and auto-creation is disabled (auto.create)")
            self._changed(connection, CreateTable(described, if_not_exists=True))
            found = self._columns(connection, schema, table_name) or set(columns)
        missing = [each for each in columns if each not in found]
        if missing and not self._evolves:
            raise ConnectError(
                f"Table {name} is missing fields ({', '.join(missing)}) and auto-evolution is "
                f"disabled (auto.evolve)"
            )
        for each in missing:
            self._add(connection, described, name, each, columns[each])
        return described

    def _split(self, name: str) -> tuple[str | None, str]:
        """A dot divides schema and table, where the database has schemas."""
        schema, dot, table = name.partition(".")
        if dot and schema and table and self._database.dialect != "sqlite":
            return schema, table
        return None, name

    def _columns(self, connection: sa.Connection, schema: str | None, name: str) -> set[str] | None:
        if self._database.dialect == "mysql":  # reflection there does not undo escapes in names
            asked = connection.execute(_MYSQL_COLUMNS, {"schema": schema, "table": name})
            return {str(each) for each in asked.scalars()} or None
        inspector = sa.inspect(connection)
        if not inspector.has_table(name, schema):
            return None
        return {str(each["name"]) for each in inspector.get_columns(name, schema)}

    def _table(
        self, schema: str | None, name: str, key: tuple[str, ...], columns: dict[str, Schema]
    ) -> sa.Table:
        safe = self._database.identifier
        made = [self._column(each, kind, in_key=each in key) for each, kind in columns.items()]
        return sa.Table(safe(name), sa.MetaData(), *made, schema=safe(schema) if schema else None)

    def _column(self, name: str, schema: Schema, *, in_key: bool) -> sa.Column[Any]:
        default = None
        if schema.has_default and schema.default is not None:
            default = sa.literal(sql_value(schema, schema.default, self._database.zone))
        return sa.Column(
            self._database.identifier(name),
            sql_type(schema, self._database.dialect, in_key=in_key),
            key=name,
            primary_key=in_key,
            autoincrement=False,
            nullable=schema.optional and not in_key,
            server_default=default,
        )

    def _add(self, connection: sa.Connection, table: sa.Table, shown: str, name: str, schema: Schema) -> None:
        if not schema.optional and not schema.has_default:
            raise ConnectError(
                f"Cannot ALTER TABLE {shown} to add missing field {name}, as the field is not "
                f"optional and does not "
                "have a default value"
            )
        dialect = self._database.engine.dialect
        column = CreateColumn(table.c[name]).compile(dialect=dialect)
        place = dialect.identifier_preparer.format_table(table)
        self._changed(connection, f"ALTER TABLE {place} ADD COLUMN {column}")

    def _changed(self, connection: sa.Connection, statement: Any) -> None:
        """In the batch's transaction, or beside it where DDL would commit it."""
        if self._database.ddl_is_transactional:
            _run(connection, statement)
            return
        with self._database.connect() as beside:
            try:
                _run(beside, statement)
                beside.commit()
            except DBAPIError as error:
                if "Duplicate column" not in str(error.orig):  # another task was faster
                    raise


def _run(connection: sa.Connection, statement: Any) -> None:
    if isinstance(statement, str):
        connection.exec_driver_sql(statement)
    else:
        connection.execute(statement)
