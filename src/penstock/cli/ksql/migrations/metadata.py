"""What a server knows of its migrations: a stream of events, and a table of the newest of each version.

The names, columns and the row with the key CURRENT are those of ksqlDB's tool, so that either tool goes on
where the other has stopped. The events are read from the stream: they are there as soon as they are written.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from typing import Final

import click

from penstock.cli.ksql.migrations.project import Project
from penstock.cli.ksql.requests import Refused, Server

CURRENT: Final = "CURRENT"
NONE: Final = "<none>"
NOT_AVAILABLE: Final = "N/A"
PENDING, RUNNING, MIGRATED, ERROR = "PENDING", "RUNNING", "MIGRATED", "ERROR"
EARLIEST: Final = {"auto.offset.reset": "earliest"}


@dataclass(frozen=True)
class Event:
    version: str
    name: str = ""
    state: str = PENDING
    checksum: str = ""
    started_on: str = ""
    completed_on: str = ""
    previous: str = NONE
    error_reason: str = NOT_AVAILABLE


_COLUMNS: Final = tuple(field.name.upper() for field in fields(Event))


class Metadata:
    def __init__(self, server: Server, project: Project) -> None:
        self._server, given = server, project.settings
        self.stream = given.get("ksql.migrations.stream.name", "MIGRATION_EVENTS")
        self.table = given.get("ksql.migrations.table.name", "MIGRATION_SCHEMA_VERSIONS")
        self._stream_topic = given.get("ksql.migrations.stream.topic.name")
        self._table_topic = given.get("ksql.migrations.table.topic.name")
        self._replicas = given.get("ksql.migrations.topic.replicas", "1")

    def initialize(self) -> None:
        """Make stream and table; what is there stays as it is."""
        service = self._server.info()["ksqlServiceId"]
        events = self._stream_topic or f"{service}ksql_{self.stream}"
        versions = self._table_topic or f"{service}ksql_{self.table}"
        columns = ", ".join(f"{name.lower()} STRING" for name in _COLUMNS)
        latest = ", ".join(f"latest_by_offset({name.lower()}) AS {name.lower()}" for name in _COLUMNS)
        shape = f"PARTITIONS=1, REPLICAS={int(self._replicas)}"
        self._server.ksql(
            f"CREATE STREAM IF NOT EXISTS {self.stream} (version_key STRING KEY, {columns}) "
            f"WITH (KAFKA_TOPIC={_text(events)}, VALUE_FORMAT='JSON', {shape});"
            f"CREATE TABLE IF NOT EXISTS {self.table} WITH (KAFKA_TOPIC={_text(versions)}) AS "
            f"SELECT version_key, {latest} FROM {self.stream} GROUP BY version_key EMIT CHANGES;",
            EARLIEST,
        )

    def destroy(self) -> None:
        known = self._sources()
        if self.table in known:
            for query in known[self.table]:
                self._server.ksql(f"TERMINATE {query};", {})
            self._server.ksql(f"DROP TABLE {self.table} DELETE TOPIC;", {})
        if self.stream in known:
            self._server.ksql(f"DROP STREAM {self.stream} DELETE TOPIC;", {})

    def _sources(self) -> dict[str, list[str]]:
        """Names of sources, with the queries that fill them."""
        found = {}
        for answer in self._server.ksql("SHOW STREAMS EXTENDED; SHOW TABLES EXTENDED;", {}):
            for each in answer["sourceDescriptions"]:
                found[each["name"]] = [query["id"] for query in each["writeQueries"]]
        return found

    def events(self) -> dict[str, Event]:
        """The newest of each version, and of `CURRENT`."""
        names = ", ".join(_COLUMNS)
        rows = self._server.rows(f"SELECT version_key, {names} FROM {self.stream};", EARLIEST)
        try:
            next(rows)
        except Refused as error:
            raise click.ClickException(
                f"{self.stream} cannot be read: {error.format_message()} "
                "Has ksql-migrations initialize-metadata been run?"
            ) from error
        found = {}
        for row in rows:
            if isinstance(row, dict):
                raise Refused(str(row.get("message", row)))
            found[row[0]] = Event(*(str(value) for value in row[1:]))
        return found

    def write(self, event: Event, *, as_current: bool = False) -> None:
        names = ", ".join(_COLUMNS)
        values = ", ".join(_text(value) for value in astuple(event))
        for key in (CURRENT, event.version) if as_current else (event.version,):
            self._server.ksql(
                f"INSERT INTO {self.stream} (version_key, {names}) VALUES ({_text(key)}, {values});", {}
            )


def last_migrated(events: dict[str, Event]) -> int:
    """The version that the server has; 0 where it has none."""
    current = events.get(CURRENT)
    if current is None:
        return 0
    if current.state == MIGRATED:
        return int(current.version)
    return int(current.previous) if current.previous != NONE else 0


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
