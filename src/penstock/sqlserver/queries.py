"""Queries of clients: SELECT that pushes rows until it is closed, or that pulls what is there now.

A push query has a thread of its own, which reads topics and feeds a `TransientQuery`. A pull query over a
table looks into its materialised view, and over a stream reads to the present end.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from penstock.client.librdkafka import Connection
from penstock.kernels.serdes import to_bytes
from penstock.plan.raw_records import RawRecord
from penstock.plan.row_schemas import ColumnSchema
from penstock.sql import statements as s
from penstock.sql.analysis.query import analyse_query
from penstock.sql.errors import SqlError
from penstock.sql.sources import DataSource
from penstock.sqlserver.channels import RowChannel
from penstock.sqlserver.errors import TOO_MANY_QUERIES, KsqlError
from penstock.sqlserver.key_lookups import keys_asked_for
from penstock.sqlserver.ordering import Ordering
from penstock.sqlserver.past import PastReader, as_of_ms, table_rows
from penstock.sqlserver.pull_limits import PullLimits
from penstock.sqlserver.server import SqlServer
from penstock.sqlserver.starting import begin_offsets
from penstock.sqlserver.topic_reading import TopicReader
from penstock.sqlserver.transient import OutputRow, TransientQuery

log = logging.getLogger(__name__)
POLL_S: Final = 0.1
TURNS: Final = 2
TURN_S: Final = 0.2
CONNECT_S: Final = 30.0
NOT_MATERIALISED: Final = (
    "The `{name}` table isn't queryable. To derive a queryable table, you can do "
    "'CREATE TABLE QUERYABLE_{name} AS SELECT * FROM {name}'"
)


@dataclass
class ClientQuery:
    """A query that a client reads."""

    id: str
    columns: tuple[ColumnSchema, ...]
    key_columns: tuple[ColumnSchema, ...]
    channel: RowChannel
    is_push: bool
    limit_reached: bool = False
    owner: str = ""
    """The principal that began it, and alone may end it."""
    on_sent: Callable[[int], None] = lambda size: None
    """Told of the bytes that go to the client."""


class ClientQueries:
    def __init__(self, server: SqlServer) -> None:
        self._server = server
        self._open: dict[str, ClientQuery] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self.pull_limits = PullLimits(server.settings)
        self._turns = threading.BoundedSemaphore(TURNS)

    def __len__(self) -> int:
        return len(self._open)

    def start(
        self, node: s.Query, properties: Mapping[str, str], channel: RowChannel, owner: str = ""
    ) -> ClientQuery:
        """Begin a query; its rows come through the channel. Blocks until the query is planned."""
        server = self._server
        if node.emit is None:
            if not server.settings.flag("ksql.pull.queries.enable"):
                raise KsqlError(
                    "Pull queries are disabled. See https://cnfl.io/queries for more info.\n"
                    "Add EMIT CHANGES if you intended to issue a push query.\n"
                    "Please set ksql.pull.queries.enable=true to enable this feature."
                )
            self.pull_limits.begin()
            try:
                return self._pull(node, channel)
            except BaseException:
                self.pull_limits.end()
                raise
        self._check_room()
        made = TransientQuery(
            analyse_query(node, server.metastore.catalogue),
            server.serde_of,
            now_ms=server.now_ms(),
            handlers=server.processing_log.handlers(f"transient_{node.source.name}"),
            random=server.random,
        )
        reset = properties.get("auto.offset.reset", "latest")
        starts = begin_offsets(server.admin, made.topics, node.start_at, reset)
        query = self._opened(made, channel, is_push=True, owner=owner)
        work = (query, made, starts, node.limit)
        threading.Thread(target=self._run, args=work, name=query.id, daemon=True).start()
        return query

    def close(self, query_id: str, owner: str | None = None) -> bool:
        """Whether there was such a query, of this owner when one is named."""
        with self._lock:
            query = self._open.get(query_id)
            if query is None or owner not in (None, query.owner):
                return False
            del self._open[query_id]
        query.channel.end()
        query.channel.close()
        return True

    def close_all(self) -> None:
        for query_id in list(self._open):
            self.close(query_id)

    def ids(self) -> list[str]:
        return list(self._open)

    def _check_room(self) -> None:
        most = self._server.settings.number("ksql.max.push.queries")
        if len(self._open) >= most:
            raise KsqlError(
                "Maximum number of push queries exceeded. "
                f"The server has {len(self._open)}, and ksql.max.push.queries is {most}",
                TOO_MANY_QUERIES,
            )

    def _opened(
        self, made: TransientQuery, channel: RowChannel, *, is_push: bool, owner: str = ""
    ) -> ClientQuery:
        first = made.query.first.name
        number = next(self._numbers)
        name = f"transient_{first}_{number}" if is_push else f"query_{number}"
        query = ClientQuery(name, made.columns, made.key_columns, channel, is_push, owner=owner)
        if is_push:
            with self._lock:
                self._open[name] = query
        else:
            query.on_sent = self.pull_limits.sent
        return query

    def _run(
        self, query: ClientQuery, made: TransientQuery, starts: dict[tuple[str, int], int], limit: int | None
    ) -> None:
        error: Exception | None = None
        try:
            settings = self._server.settings
            connection = Connection(settings.bootstrap_servers, CONNECT_S, settings.client)
            with TopicReader(connection, starts) as reader:
                self._pump(query, made, reader, limit, to_end=False)
        except Exception as raised:
            log.warning("query %s has ended: %s", query.id, raised)
            error = raised
        finally:
            made.close()
            with self._lock:
                self._open.pop(query.id, None)
            query.channel.end(error)

    def _pump(
        self,
        query: ClientQuery,
        made: TransientQuery,
        reader: TopicReader | PastReader,
        limit: int | None,
        *,
        to_end: bool,
    ) -> None:
        left = limit
        while not query.channel.closed.is_set():
            records = reader.poll(POLL_S)
            if records:
                rows = self._fed(made, records)
                rows, left = _limited(rows, left)
                if rows and not query.channel.put(rows, sum(map(_size, records))):
                    return
            if left == 0:
                query.limit_reached = True
                return
            if to_end and reader.at_end:
                return

    def _fed(self, made: TransientQuery, records: list[RawRecord]) -> list[OutputRow]:
        """A few queries compute at a time, so that many leave room for requests; none waits long for it."""
        has_turn = self._turns.acquire(timeout=TURN_S)
        try:
            return made.feed(records, self._server.now_ms())
        finally:
            if has_turn:
                self._turns.release()

    # -- pull

    def _pull(self, node: s.Query, channel: RowChannel) -> ClientQuery:
        server = self._server
        _check_pull(node)
        asked = replace(node, emit="CHANGES", order_by=(), as_of=None)
        query = analyse_query(asked, server.metastore.catalogue)
        source = query.first
        until_ms = None if node.as_of is None else as_of_ms(node.as_of)
        if until_ms is None and source.kind == "TABLE" and not (source.is_derived or source.read_only):
            raise SqlError(NOT_MATERIALISED.format(name=source.name), *node.source.at)
        made = TransientQuery(query, server.serde_of, now_ms=server.now_ms(), random=server.random)
        opened = self._opened(made, channel, is_push=False)
        if source.kind == "STREAM" or until_ms is not None:
            starts = begin_offsets(server.admin, made.topics, node.start_at, "earliest")
            work = (opened, made, starts, node)
            threading.Thread(target=self._run_to_end, args=work, name=opened.id, daemon=True).start()
            return opened
        try:
            rows = [row for row in made.feed(self._rows(source, made)) if not row.is_tombstone]
            if node.order_by:
                rows = Ordering(node.order_by, made.columns).sorted(rows, node.limit)
            rows, left = _limited(rows, node.limit)
            opened.limit_reached = left == 0
            channel.put_all(rows)
        finally:
            made.close()
        self.pull_limits.end()
        channel.end()
        return opened

    def _run_to_end(
        self, query: ClientQuery, made: TransientQuery, starts: dict[tuple[str, int], int], node: s.Query
    ) -> None:
        error: Exception | None = None
        try:
            settings = self._server.settings
            connection = Connection(settings.bootstrap_servers, CONNECT_S, settings.client)
            with TopicReader(connection, starts) as topics:
                reader = topics if node.as_of is None else PastReader(topics, as_of_ms(node.as_of))
                if isinstance(reader, PastReader) and made.query.first.kind == "TABLE":
                    found = made.feed(table_rows(reader, query.channel.closed), self._server.now_ms())
                    self._all_at_once(query, made, (row for row in found if not row.is_tombstone), node)
                elif node.order_by:
                    self._all_at_once(query, made, self._to_end(query, made, reader), node)
                else:
                    self._pump(query, made, reader, node.limit, to_end=True)
        except Exception as raised:
            error = raised
        finally:
            self.pull_limits.end()
            made.close()
            query.channel.end(error)

    def _all_at_once(
        self, query: ClientQuery, made: TransientQuery, found: Iterable[OutputRow], node: s.Query
    ) -> None:
        if node.order_by:
            found = Ordering(node.order_by, made.columns).sorted(found, node.limit)
        rows, left = _limited(list(found), node.limit)
        query.limit_reached = left == 0
        if rows:  # an empty batch is a sign of life
            query.channel.put_all(rows)

    def _to_end(
        self, query: ClientQuery, made: TransientQuery, reader: TopicReader | PastReader
    ) -> Iterator[OutputRow]:
        while not query.channel.closed.is_set() and not reader.at_end:
            yield from made.feed(reader.poll(POLL_S), self._server.now_ms())

    def _rows(self, source: DataSource, made: TransientQuery) -> Iterable[RawRecord]:
        view = self._server.views.of(source)
        keys = keys_asked_for(made.query.where, source.schema.key)
        if keys is None:
            if not self._server.settings.flag("ksql.query.pull.table.scan.enabled"):
                raise KsqlError(
                    "WHERE clause missing key column for disjunct: a scan of the table is disabled by "
                    "ksql.query.pull.table.scan.enabled"
                )
            return view.all()
        serde = self._server.serde_of(source.schema.key_format, source.schema.key, True)
        names = [column.name for column in source.schema.key]
        wanted = []
        for values in keys:
            value = values[0] if len(names) == 1 else dict(zip(names, values, strict=True))
            data = to_bytes(serde, source.topic, value)
            if data is not None:
                wanted.append(data)
        return view.of_keys(wanted)


def _check_pull(node: s.Query) -> None:
    for what, there in (
        ("JOIN clauses", bool(node.joins)),
        ("WINDOW clauses", node.window is not None),
        ("GROUP BY clauses", bool(node.group_by)),
        ("PARTITION BY clauses", bool(node.partition_by)),
        ("HAVING clauses", node.having is not None),
        ("queries in parentheses", node.source.query is not None),
        ("UNION ALL", bool(node.union)),
    ):
        if there:
            raise SqlError(
                f"Pull queries don't support {what}. See https://cnfl.io/queries for more info.\n"
                "Add EMIT CHANGES if you intended to issue a push query.",
                *node.at,
            )


def _size(record: RawRecord) -> int:
    return len(record.value or b"") + len(record.key or b"")


def _limited(rows: list[OutputRow], left: int | None) -> tuple[list[OutputRow], int | None]:
    if left is None:
        return rows, None
    taken = rows[:left]
    return taken, left - len(taken)
