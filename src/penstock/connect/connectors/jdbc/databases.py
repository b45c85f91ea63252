"""Engines of databases, names that are safe to put into SQL, and which errors pass by themselves."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.sql.elements import quoted_name

from penstock.connect.connectors.jdbc.settings import address
from penstock.connect.errors import ConnectError, RetriableError

CONNECT_SECONDS: Final = 20
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_ASLEEP: Final = threading.Event()  # waiting for it is sleeping


class Database:
    """One database of a task, with one connection at a time."""

    def __init__(self, config: Mapping[str, str]) -> None:
        where = address(config)
        self.dialect = "mysql" if where.dialect == "mariadb" else where.dialect
        self.name = where.database
        self.zone = ZoneInfo(config.get("db.timezone") or "UTC")
        self._quotes = (config.get("quote.sql.identifiers") or "ALWAYS").upper() == "ALWAYS"
        self._attempts = int(config.get("connection.attempts") or 3)
        self._backoff_s = int(config.get("connection.backoff.ms") or 10_000) / 1000
        url = sa.URL.create(
            where.driver, where.user, where.password, where.host or None, where.port or None, where.database
        )
        arguments: dict[str, Any] = dict(where.parameters)
        if self.dialect == "sqlite":
            arguments = {"timeout": CONNECT_SECONDS}
        else:
            arguments["connect_timeout"] = int(arguments.get("connect_timeout", CONNECT_SECONDS))
        if self.dialect == "mysql":
            arguments["charset"] = "utf8mb4"
            arguments["init_command"] = "SET time_zone = '+00:00'"
        self.engine = sa.create_engine(url, poolclass=sa.NullPool, connect_args=arguments)
        if self.dialect == "postgresql":
            sa.event.listen(self.engine, "connect", _in_utc)
        if self.dialect == "sqlite":  # its driver begins transactions late and lets DDL out of them
            sa.event.listen(self.engine, "connect", _no_implicit_begin)
            sa.event.listen(self.engine, "begin", _begin)

    def connect(self) -> sa.Connection:
        """A connection; tried `connection.attempts` times."""
        for attempt in range(1, self._attempts + 1):
            try:
                return self.engine.connect()
            except DBAPIError as error:
                if attempt == self._attempts or not passing(error):
                    raise RetriableError(f"the database cannot be reached: {error.orig}") from None
                _ASLEEP.wait(self._backoff_s)
        raise AssertionError

    def pause(self, seconds: float) -> None:
        _ASLEEP.wait(seconds)

    def identifier(self, name: str) -> quoted_name:
        """A name for SQL: quoted, or refused when it must not be and is not plain."""
        if "\0" in name:
            raise ConnectError("a name of a table or column holds a zero character")
        if "%" in name and self.dialect == "mysql":  # PyMySQL would take it for a parameter
            raise ConnectError(f"{name!r} holds a percent sign, which is not supported for MariaDB and MySQL")
        if not self._quotes and not _PLAIN.fullmatch(name):
            raise ConnectError(f"{name!r} needs quotes, and quote.sql.identifiers is NEVER")
        return quoted_name(name, quote=self._quotes)

    def close(self) -> None:
        self.engine.dispose()

    @property
    def ddl_is_transactional(self) -> bool:
        return self.dialect != "mysql"


def passing(error: Exception) -> bool:
    """Whether the same may succeed later: the server was gone, or two transactions met."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    if isinstance(error, RetriableError):
        return True
    if isinstance(error, (OperationalError, InterfaceError)):
        return "no such" not in str(error.orig) and "syntax" not in str(error.orig)
    return False


@contextmanager
def transient_as_retriable() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        if passing(error):
            raise RetriableError(str(error.orig)) from error
        raise ConnectError(f"{type(error.orig).__name__}: {error.orig}") from error


def _in_utc(connection: Any, _record: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET TIME ZONE 'UTC'")
    connection.commit()


def _no_implicit_begin(connection: Any, _record: Any) -> None:
    connection.isolation_level = None


def _begin(connection: Any) -> None:
    if connection.get_execution_options().get("writes"):
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.exec_driver_sql("BEGIN")
