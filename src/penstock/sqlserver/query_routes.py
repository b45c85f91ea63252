"""/query, /query-stream and /close-query: rows of a SELECT as they come, in each of the three forms."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec
from starlette.responses import Response, StreamingResponse

from penstock.plan.row_schemas import ColumnSchema
from penstock.security.operations import Operation
from penstock.sql import statements as s
from penstock.sql.parsing import parse_statement
from penstock.sql.variables import substituted
from penstock.sqlserver.channels import RowChannel
from penstock.sqlserver.errors import BAD_STATEMENT, KsqlError, StatementError, error_body
from penstock.sqlserver.executing import FAILURES, as_statement_error, split_or_refuse
from penstock.sqlserver.printing import Printing
from penstock.sqlserver.queries import ClientQueries, ClientQuery
from penstock.sqlserver.reading_rights import check_topics, topics_read
from penstock.sqlserver.result_values import writers
from penstock.sqlserver.server import SqlServer
from penstock.sqlserver.sessions import Session
from penstock.sqlserver.transient import OutputRow
from penstock.web import Call
from penstock.web.callers import Caller

DELIMITED: Final = "application/vnd.ksqlapi.delimited.v1"
KSQL: Final = "application/vnd.ksql.v1+json"
HEARTBEAT_S: Final = 10.0
"""An empty line goes out when no row has come for so long: a client that is gone is noticed by it."""


class Queries:
    def __init__(self, server: SqlServer, queries: ClientQueries) -> None:
        self._server, self._queries = server, queries

    async def query(self, call: Call) -> Any:
        """The older form: an array with an object for each row."""
        body = call.body
        await self._server.wait_for_command(body.command_sequence_number)
        node, session = await self.read(body.ksql, body.streams_properties, body.session_variables)
        await self.check(call.caller, node)
        if isinstance(node, s.PrintTopic):
            return StreamingResponse(Printing(self._server).lines(node), media_type="text/plain")
        query = await self.started(call.caller, node, session, body.ksql)
        if call.media_type == DELIMITED:
            return _sent(_delimited(query), query, DELIMITED)
        return _sent(_rows_of_query(query), query, call.media_type)

    async def stream(self, call: Call) -> Any:
        """The newer form: a line with the columns, then an array for each row."""
        body = call.body
        node, session = await self.read(body.sql, body.properties, body.session_variables)
        await self.check(call.caller, node)
        if isinstance(node, s.PrintTopic):
            raise StatementError("PRINT is served by /query", body.sql, code=BAD_STATEMENT)
        query = await self.started(call.caller, node, session, body.sql)
        if call.media_type == KSQL:
            return _sent(_rows_of_query(query), query, KSQL)
        if call.media_type == DELIMITED:
            return _sent(_delimited(query), query, DELIMITED)
        return _sent(_array(query), query, call.media_type)

    async def only_socket(self, call: Call) -> Any:
        raise KsqlError("/ws/query is a web socket: ask for an upgrade, or use /query-stream")

    async def close(self, call: Call) -> Any:
        if not self._queries.close(call.body.query_id, str(call.principal)):
            raise KsqlError(f"No query with id {call.body.query_id}")
        return Response()

    async def read(
        self, text: str, properties: Mapping[str, Any], given: Mapping[str, Any]
    ) -> tuple[s.Query | s.PrintTopic, Session]:
        """The one statement of a request; StatementError where it is none of these."""
        variables = {name: str(value) for name, value in given.items()}
        session = Session.of(self._server.settings.session, properties, variables)
        statements = split_or_refuse(text)
        if len(statements) != 1:
            raise StatementError(
                f"Expected exactly one KSQL statement; found {len(statements)} instead", text
            )
        try:
            node = parse_statement(substituted(statements[0], session.variables))
        except FAILURES as error:
            raise as_statement_error(error, text, []) from error
        if not isinstance(node, s.Query | s.PrintTopic):
            raise StatementError(
                f"Statement type `{type(node).__name__}' not supported for this resource: send it to /ksql",
                text,
                code=40001,
            )
        return node, session

    async def check(self, caller: Caller, node: s.Query | s.PrintTopic) -> None:
        """KsqlError when the caller may not read what the statement reads."""
        topics = topics_read(node, self._server.metastore.catalogue)
        await check_topics(self._server.rights, caller, Operation.READ, topics)

    async def started(self, caller: Caller, node: s.Query, session: Session, text: str) -> ClientQuery:
        channel, owner = RowChannel(), str(caller.principal)
        try:
            return await asyncio.to_thread(self._queries.start, node, session.properties, channel, owner)
        except FAILURES as error:
            channel.close()
            raise as_statement_error(error, text, []) from error


def _sent(lines: AsyncIterator[bytes], query: ClientQuery, media_type: str) -> Response:
    async def closing() -> AsyncIterator[bytes]:
        try:
            async for line in lines:
                query.on_sent(len(line))
                yield line
        finally:
            query.channel.close()

    return StreamingResponse(closing(), media_type=media_type)


async def batches(query: ClientQuery) -> AsyncIterator[list[OutputRow]]:
    """Rows as they come; an empty list now and then while none do."""
    while (rows := await query.channel.take(HEARTBEAT_S)) is not None:
        yield rows


def _header(query: ClientQuery) -> dict[str, Any]:
    return {
        "queryId": query.id,
        "columnNames": [column.name for column in query.columns],
        "columnTypes": [str(column.type) for column in query.columns],
    }


def _failure(error: Exception) -> bytes:
    shown = error if isinstance(error, KsqlError) else KsqlError(str(error), 50000)
    return error_body(shown)


async def _delimited(query: ClientQuery) -> AsyncIterator[bytes]:
    write = writers(query.columns)
    yield msgspec.json.encode(_header(query)) + b"\n"
    try:
        async for rows in batches(query):
            yield b"".join(_array_line(row, write) + b"\n" for row in rows) or b"\n"
    except FAILURES as error:
        yield _failure(error) + b"\n"


def _array_line(row: OutputRow, write: list[Any]) -> bytes:
    return msgspec.json.encode([each(value) for each, value in zip(write, row.values, strict=True)])


async def _array(query: ClientQuery) -> AsyncIterator[bytes]:
    """One JSON array: the columns first, then the rows."""
    write = writers(query.columns)
    yield b"[" + msgspec.json.encode(_header(query))
    try:
        async for rows in batches(query):
            yield b"".join(b",\n" + _array_line(row, write) for row in rows) or b"\n"
    except FAILURES as error:
        yield b",\n" + _failure(error)
    yield b"]\n"


async def _rows_of_query(query: ClientQuery) -> AsyncIterator[bytes]:
    write = writers(query.columns)
    header = {"header": {"queryId": query.id, "schema": _schema_text(query)}}
    yield b"[" + json.dumps(header, ensure_ascii=False).encode()
    try:
        async for rows in batches(query):
            yield b"".join(b",\n" + object_line(row, write) for row in rows) or b"\n"
        if query.limit_reached:
            yield b',\n{"finalMessage":"Limit Reached"}'
    except FAILURES as error:
        yield b',\n{"errorMessage":' + _failure(error) + b"}"
    yield b"]\n"


def object_line(row: OutputRow, write: list[Any]) -> bytes:
    tombstone = b',"tombstone":true' if row.is_tombstone else b""
    return b'{"row":{"columns":' + _array_line(row, write) + tombstone + b"}}"


def _schema_text(query: ClientQuery) -> str:
    return ", ".join(_column_text(column, query) for column in query.columns)


def _column_text(column: ColumnSchema, query: ClientQuery) -> str:
    return f"{column} KEY" if column in query.key_columns else str(column)
