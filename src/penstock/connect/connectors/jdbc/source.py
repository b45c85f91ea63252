"""Rows of tables or of a query to topics, as Confluent's JdbcSourceConnector.

`incrementing`, `timestamp` and `timestamp+incrementing` read what is new; `bulk` reads everything, again and
again, each time in one transaction. The offsets are Confluent's: `incrementing`, `timestamp` in milliseconds
and `timestamp_nanos`.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from penstock.clock import SystemClock
from penstock.connect.api import Importance, Kind
from penstock.connect.api.config_def import at_least, non_empty, one_of
from penstock.connect.api.refusals import Mistakes, require
from penstock.connect.api.source import Place, SourceConnector, SourceOffsets, SourceRecord, SourceTask
from penstock.connect.connectors.jdbc.settings import connection_keys, shared_mistakes
from penstock.connect.errors import ConnectError, RetriableError

if TYPE_CHECKING:
    from penstock.connect.connectors.jdbc.reading import Reader

BULK, INCREMENTING, TIMESTAMP, BOTH = "bulk", "incrementing", "timestamp", "timestamp+incrementing"
NUMBER: Final = "penstock.task.number"
COUNT: Final = "penstock.task.count"
log = logging.getLogger(__name__)


_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
_TABLES, _MODE, _READING = "Tables", "Mode", "Connector"
_TEXT, _MANY = Kind.STRING, Kind.LIST
CONFIG: Final = (
    connection_keys()
    .define(
        "table.whitelist",
        _MANY,
        [],
        importance=_MEDIUM,
        group=_TABLES,
        doc="The tables to read, by name, with or without their schema. All if nothing is named.",
    )
    .define(
        "table.include.list",
        _MANY,
        [],
        importance=_MEDIUM,
        group=_TABLES,
        doc="Regular expressions for SCHEMA.TABLE: the tables to read.",
    )
    .define("table.blacklist", _MANY, [], importance=_MEDIUM, group=_TABLES, doc="Tables that are not read.")
    .define(
        "table.exclude.list",
        _MANY,
        [],
        importance=_MEDIUM,
        group=_TABLES,
        doc="Regular expressions for SCHEMA.TABLE: tables that are not read.",
    )
    .define(
        "schema.pattern",
        _TEXT,
        None,
        importance=_HIGH,
        group=_TABLES,
        doc="The schema whose tables are read; the database's own default if it is not given.",
    )
    .define("table.types", _MANY, ["TABLE"], importance=_LOW, group=_TABLES, doc="TABLE, VIEW or both.")
    .define(
        "mode",
        _TEXT,
        importance=_HIGH,
        group=_MODE,
        doc="How new rows are found.",
        validator=one_of(BULK, TIMESTAMP, INCREMENTING, BOTH),
        recommended=(BULK, TIMESTAMP, INCREMENTING, BOTH),
    )
    .define(
        "incrementing.column.name",
        _TEXT,
        "",
        importance=_MEDIUM,
        group=_MODE,
        doc="A column that only grows. Empty: the one primary-key column of whole numbers.",
    )
    .define(
        "timestamp.column.name",
        _MANY,
        [],
        importance=_MEDIUM,
        group=_MODE,
        doc="Columns with the time of the last change; of several, the first that is not null counts.",
    )
    .define(
        "timestamp.initial",
        Kind.LONG,
        None,
        importance=_LOW,
        group=_MODE,
        doc="Milliseconds since 1970 to begin with; -1 for now.",
    )
    .define(
        "timestamp.delay.interval.ms",
        Kind.LONG,
        0,
        importance=_HIGH,
        group=_READING,
        validator=at_least(0),
        doc="How long a row must be old: for transactions that commit later than their timestamps say.",
    )
    .define(
        "validate.non.null",
        Kind.BOOLEAN,
        True,
        importance=_LOW,
        group=_MODE,
        doc="Refuse columns of the mode that may hold null: such rows would never be read.",
    )
    .define(
        "query",
        _TEXT,
        "",
        importance=_MEDIUM,
        group=_MODE,
        doc="A query instead of tables. Its conditions are added around it.",
    )
    .define("query.suffix", _TEXT, "", importance=_LOW, group=_MODE, doc="Added at the end of each query.")
    .define(
        "query.retry.attempts",
        Kind.INT,
        -1,
        importance=_LOW,
        group=_READING,
        doc="Accepted. A query that fails because the server is gone is asked again with the next batch.",
    )
    .define(
        "topic.prefix",
        _TEXT,
        importance=_HIGH,
        group=_READING,
        validator=non_empty,
        doc="Before the table's name: the topic. With a query: the topic.",
    )
    .define(
        "poll.interval.ms",
        Kind.INT,
        5000,
        importance=_HIGH,
        group=_READING,
        validator=at_least(1),
        doc="How often a table without news is asked.",
    )
    .define(
        "batch.max.rows",
        Kind.INT,
        1000,
        importance=_LOW,
        group=_READING,
        validator=at_least(1),
        doc="How many rows are fetched at a time.",
    )
    .define(
        "table.poll.interval.ms",
        Kind.LONG,
        60_000,
        importance=_LOW,
        group=_READING,
        doc="Accepted. New tables are looked for with each batch.",
    )
    .define(
        "numeric.mapping",
        _TEXT,
        None,
        importance=_LOW,
        group=_READING,
        doc="What NUMERIC becomes: none, precision_only, best_fit or best_fit_eager_double.",
        validator=one_of("none", "precision_only", "best_fit", "best_fit_eager_double"),
    )
    .define(
        "numeric.precision.mapping",
        Kind.BOOLEAN,
        False,
        importance=_LOW,
        group=_READING,
        doc="The old form of numeric.mapping=precision_only.",
    )
)


UNSUPPORTED: Final = {
    "catalog.pattern": "Name the database in connection.url.",
    "transaction.isolation.mode": "The database's default is used.",
    "timestamp.granularity": "Timestamps are Connect's, in milliseconds.",
    "timestamp.columns.mapping": "Use one connector for each set of columns.",
    "incrementing.column.mapping": "Use one connector for each column.",
    "query.masked": "Use query with a variable of a config provider.",
}


class JdbcSourceTask(SourceTask):
    def __init__(self, config: Mapping[str, str], offsets: SourceOffsets) -> None:
        super().__init__(config, offsets)
        require("sqlalchemy")
        from penstock.connect.connectors.jdbc.reading import Reader

        self._settings = JdbcSource.CONFIG.parse(config)
        self.whole = self._settings["mode"] == BULK
        self._reader: Reader = Reader(config, self._settings)
        self._waiting: Iterator[list[SourceRecord]] | None = None

    def poll(self) -> Sequence[SourceRecord]:
        if self._waiting is None:
            self._waiting = self._all()
        return next(self._waiting, [])

    def _all(self) -> Iterator[list[SourceRecord]]:
        """Portions of rows, table by table. What has been read is offered until the batch is full."""
        try:
            for source in self._reader.sources(self._mine):
                yield from self._reader.portions(source, self.offsets)
        except RetriableError as error:
            if self.whole:  # what was read so far is no whole table
                raise
            log.warning("%s; it is asked again with the next batch", error)

    def _mine(self, table: str) -> bool:
        number, count = int(self.config.get(NUMBER, 0)), int(self.config.get(COUNT, 1))
        return zlib.crc32(table.encode()) % count == number

    def close(self) -> None:
        if isinstance(self._waiting, Generator):
            self._waiting.close()  # what it had open, a database would keep locked
        self._reader.close()


class JdbcSource(SourceConnector):
    NAMES: ClassVar = ("io.confluent.connect.jdbc.JdbcSourceConnector",)
    CONFIG: ClassVar = CONFIG
    TASK: ClassVar = JdbcSourceTask
    TASK_NAME: ClassVar = "io.confluent.connect.jdbc.source.JdbcSourceTask"
    GUARANTEE: ClassVar = (
        "exactly once: offsets are committed with the records. A change is seen if its incrementing "
        "or timestamp "
        "column tells of it"
    )
    POLL_MS: ClassVar = 100

    def __init__(self, config: Mapping[str, str]) -> None:
        super().__init__(config)
        self._interval_s = int(config.get("poll.interval.ms") or 5000) / 1000
        self._seen: dict[str, Any] | None = None
        self._asked_at = 0.0

    @classmethod
    def check(cls, config: Mapping[str, str]) -> Mistakes:
        mistakes = shared_mistakes(config, UNSUPPORTED)
        mode, query = config.get("mode"), (config.get("query") or "").strip()
        chosen = [name for name in ("table.whitelist", "table.include.list") if config.get(name)]
        if query and chosen:
            mistakes += [(name, f"Do not specify {name} when query is given") for name in chosen]
        if mode == INCREMENTING and query and not config.get("incrementing.column.name"):
            mistakes.append(("incrementing.column.name", "Query mode must specify it"))
        if mode in (TIMESTAMP, BOTH) and not config.get("timestamp.column.name"):
            mistakes.append(("timestamp.column.name", f"Must be given when mode is {mode}"))
        if mode == BOTH and not config.get("incrementing.column.name"):
            mistakes.append(("incrementing.column.name", f"Must be given when mode is {mode}"))
        return mistakes

    def task_configs(self, most: int) -> list[dict[str, str]]:
        count = 1 if self.config.get("query") else most
        return [{**self.config, NUMBER: str(number), COUNT: str(count)} for number in range(count)]

    def has_news(self, offsets: SourceOffsets) -> bool:
        """At once while rows keep coming, then every `poll.interval.ms`."""
        now, reached = SystemClock.monotonic(), {str(p): o for p, o in offsets.items()}
        drained = reached == self._seen or self.config.get("mode") == BULK
        if drained and self._asked_at and now - self._asked_at < self._interval_s:
            return False
        if not self._asked_at and self._bulk_is_recent(offsets):
            return False
        self._seen, self._asked_at = reached, now
        return not drained or self._has_rows(offsets)

    def _has_rows(self, offsets: SourceOffsets) -> bool:
        """A look from here, because a job of Spark that finds nothing costs much more."""
        if self.config.get("mode") == BULK or self.config.get("query.suffix"):
            return True
        from penstock.connect.connectors.jdbc.reading import Reader

        reader = Reader(self.config, self.CONFIG.parse(self.config))
        try:
            return reader.has_rows(offsets)
        except RetriableError as error:
            log.warning("%s; it is asked again", error)
            return False
        except Exception:  # the task fails with the same, and it is shown there
            return True
        finally:
            reader.close()

    def _bulk_is_recent(self, offsets: SourceOffsets) -> bool:
        """A worker that starts again does not read everything again before its time."""
        last = max((int(offset.get("polled", 0)) for _, offset in offsets.items()), default=0)
        return SystemClock().now_ms() - last < self._interval_s * 1000

    def check_offsets(self, changes: Sequence[tuple[Place, Place | None]]) -> None:
        for partition, offset in changes:
            if not {"table", "query"} & partition.keys():
                raise ConnectError("Partition objects should contain the key 'table' or 'query'")
            known = {"incrementing", "timestamp", "timestamp_nanos", "polled"}
            if offset is not None and not offset.keys() <= known:
                raise ConnectError(f"Offset objects may contain only the keys {', '.join(sorted(known))}")
