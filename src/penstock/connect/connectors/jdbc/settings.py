"""Settings that the JDBC source and sink share, and addresses of databases: `jdbc:` URLs as Confluent has
them.

Nothing here connects to a database.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote

from penstock.connect.api import ConfigDef, Importance, Kind
from penstock.connect.api.config_def import at_least, one_of
from penstock.connect.api.guards import Forbidden, allowed_host, allowed_path
from penstock.connect.api.refusals import Mistakes, missing, unsupported
from penstock.connect.errors import ConfigError, ConnectError

URL: Final = "connection.url"
_ADDRESS: Final = re.compile(
    r"jdbc:(postgresql|mysql|mariadb):(?://(?:([^:/?@]+)|\[([^\]]+)\])(?::(\d+))?/)?([^?]*)(?:\?(.*))?"
)
_SQLITE: Final = re.compile(r"jdbc:sqlite:(?:file:)?([^?]+)")
_DRIVERS: Final = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql",
                   "sqlite": "sqlite"}  # fmt: skip
_PORTS: Final = {"postgresql": 5432, "mysql": 3306, "mariadb": 3306}
_MODULES: Final = {"postgresql": "psycopg", "mysql": "pymysql", "mariadb": "pymysql", "sqlite": "sqlite3"}
_PARAMETERS: Final = {
    "postgresql": {
        "sslmode": "sslmode",
        "ApplicationName": "application_name",
        "connectTimeout": "connect_timeout",
        "currentSchema": "options",
    },
    "mysql": {"connectTimeout": "connect_timeout"},
    "mariadb": {"connectTimeout": "connect_timeout"},
}
"""Parameters of a URL that a driver here knows, and under which name. Others are refused: libpq's would let a
configuration read files."""


class Address(NamedTuple):
    """Where a database is."""

    dialect: str
    host: str
    port: int
    database: str
    user: str | None
    password: str | None
    parameters: Mapping[str, str]

    @property
    def driver(self) -> str:
        return _DRIVERS[self.dialect]


def address(config: Mapping[str, str]) -> Address:
    """ConfigError for a URL that is none of these databases, Forbidden for a place that is not allowed."""
    url = config.get(URL) or ""
    user, password = config.get("connection.user"), config.get("connection.password")
    if found := _SQLITE.fullmatch(url):
        path = found[1]
        if path != ":memory:":
            path = str(allowed_path(config, path))
        return Address("sqlite", "", 0, path, None, None, {})
    match = _ADDRESS.fullmatch(url)
    if match is None:
        raise ConfigError(URL, _without_secrets(url), "expected jdbc:postgresql://HOST:PORT/DATABASE, "
                                                      "jdbc:mysql:…, "
                          "jdbc:mariadb:… or jdbc:sqlite:FILE")  # fmt: skip
    dialect, host, port = match[1], match[2] or match[3] or "localhost", int(match[4] or _PORTS[match[1]])
    allowed_host(host)
    given = dict(parse_qsl(match[6] or ""))
    user, password = given.pop("user", user), given.pop("password", password)
    unknown = given.keys() - _PARAMETERS[dialect].keys()
    if unknown:
        raise ConfigError(
            URL, _without_secrets(url), f"the parameters {', '.join(sorted(unknown))} are not supported"
        )
    parameters = {_PARAMETERS[dialect][name]: value for name, value in given.items()}
    if "options" in parameters:
        schemas = parameters["options"]
        if not re.fullmatch(r"[\w$,]+", schemas):
            raise ConfigError(
                URL, _without_secrets(url), "currentSchema holds names with commas between them"
            )
        parameters["options"] = f"-csearch_path={schemas}"
    return Address(dialect, host, port, unquote(match[5]), user, password, parameters)


def _without_secrets(url: str) -> str:
    return re.sub(r"(?i)(password=)[^&]*", r"\1[hidden]", url)


def address_mistakes(config: Mapping[str, Any]) -> Mistakes:
    if not config.get(URL):
        return []
    try:
        found = address(config)
    except (ConfigError, Forbidden) as error:
        return [(URL, str(error))]
    except ConnectError as error:
        return [(URL, str(error))]
    return missing("sqlalchemy", _MODULES[found.dialect])


def connection_keys() -> ConfigDef:
    """Of source and sink alike."""
    high, medium, low = Importance.HIGH, Importance.MEDIUM, Importance.LOW
    group = "Database"
    return (
        ConfigDef()
        .define(
            URL,
            Kind.STRING,
            importance=high,
            group=group,
            doc="jdbc:postgresql://HOST:PORT/DATABASE, jdbc:mysql://…, jdbc:mariadb://… or jdbc:sqlite:FILE.",
        )
        .define(
            "connection.user", Kind.STRING, None, importance=high, group=group, doc="The database's user."
        )
        .define(
            "connection.password",
            Kind.PASSWORD,
            None,
            importance=high,
            group=group,
            doc="The user's password.",
        )
        .define(
            "connection.attempts",
            Kind.INT,
            3,
            importance=low,
            group=group,
            validator=at_least(1),
            doc="How often a connection is tried before the task fails.",
        )
        .define(
            "connection.backoff.ms",
            Kind.LONG,
            10_000,
            importance=low,
            group=group,
            validator=at_least(0),
            doc="The pause between two attempts.",
        )
        .define(
            "dialect.name",
            Kind.STRING,
            "",
            importance=low,
            group=group,
            validator=one_of(
                "", "PostgreSqlDatabaseDialect", "MySqlDatabaseDialect", "SqliteDatabaseDialect"
            ),
            doc="Accepted and not needed: the URL says which database it is.",
        )
        .define(
            "db.timezone",
            Kind.STRING,
            "UTC",
            importance=medium,
            group=group,
            validator=_zone,
            doc="The time zone of timestamps that have none.",
        )
        .define(
            "quote.sql.identifiers",
            Kind.STRING,
            "ALWAYS",
            importance=medium,
            group=group,
            validator=one_of("ALWAYS", "NEVER", ignore_case=True),
            doc="ALWAYS: names of tables and columns are quoted. NEVER: only plain names are accepted.",
        )
    )


def _zone(name: str, value: Any) -> None:
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(str(value))
    except (KeyError, ValueError, OSError) as error:
        raise ConfigError(name, value, "Invalid time zone identifier") from error


_UNKNOWN: Final = {
    "connection.oracle.": "Oracle is not supported.",
    "mssql.": "SQL Server is not supported.",
    "oracle.": "Oracle is not supported.",
    "connection.ca": "",
    "ssl.": "Use sslmode in connection.url.",
    "connection.mode": "",
    "connection.kerberos.": "",
}


def shared_mistakes(config: Mapping[str, Any], more: Mapping[str, str]) -> Mistakes:
    return unsupported(config, {**_UNKNOWN, **more}) + address_mistakes(config)
