"""/ws/query: rows of a SELECT, or records of PRINT, as messages of a web socket.

The request is a query parameter, `request`, with the body of /query. The first message has the columns, each
further one a row; the socket is closed with 1000 at the end.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from penstock.sql import statements as s
from penstock.sqlserver.entities import field_json
from penstock.sqlserver.errors import KsqlError, error_body
from penstock.sqlserver.executing import FAILURES
from penstock.sqlserver.printing import Printing
from penstock.sqlserver.queries import ClientQueries, ClientQuery
from penstock.sqlserver.query_routes import Queries, batches, object_line
from penstock.sqlserver.result_values import writers
from penstock.sqlserver.server import SqlServer
from penstock.web import HttpError, Route, Service
from penstock.web.application import App
from penstock.web.callers import Asked, Caller
from penstock.web.origins import check_origin

PATH: Final = "/ws/query"
DONE, BAD_REQUEST, REFUSED, FAILED = 1000, 1003, 1008, 1011


class QueryRequest(msgspec.Struct, rename="camel"):
    ksql: str
    streams_properties: dict[str, Any] = {}
    session_variables: dict[str, Any] = {}


def with_web_socket(
    app: App, service: Service, routes: tuple[Route, ...], server: SqlServer, queries: ClientQueries
) -> App:
    """The application, which takes web sockets too. Its caller is known and asked as by every route."""
    selects = Queries(server, queries)
    route = next(each for each in routes if each.path == PATH)

    async def both(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await app(scope, receive, send)
            return
        socket = WebSocket(scope, receive, send)
        if scope["path"] != PATH:
            await socket.close(BAD_REQUEST, f"only {PATH} is a web socket")
            return
        request = Request({**scope, "type": "http", "method": "GET"})
        try:
            check_origin(request)
            caller = await service.authenticate(request, route)
            await service.authorize(Asked(caller, route, {}, {}))
        except HttpError as error:
            await socket.close(REFUSED, error.message[:100])
            return
        await socket.accept()
        await _served(socket, caller, server, selects)

    return both


async def _served(socket: WebSocket, caller: Caller, server: SqlServer, selects: Queries) -> None:
    code = DONE
    try:
        request = msgspec.json.decode(socket.query_params.get("request", ""), type=QueryRequest)
        node, session = await selects.read(
            request.ksql, request.streams_properties, request.session_variables
        )
        await selects.check(caller, node)
        if isinstance(node, s.PrintTopic):
            await _until_gone(socket, _print(socket, server, node))
        else:
            query = await selects.started(caller, node, session, request.ksql)
            await _until_gone(socket, _rows(socket, query))
    except msgspec.DecodeError as error:
        code = await _refused(socket, KsqlError(f"The parameter request is no query: {error}"))
    except FAILURES as error:
        code = await _refused(socket, error)
    except WebSocketDisconnect:
        return
    if socket.application_state is WebSocketState.CONNECTED:
        await socket.close(code, "done" if code == DONE else "")


async def _refused(socket: WebSocket, error: Exception) -> int:
    shown = error if isinstance(error, KsqlError) else KsqlError(str(error), 50000)
    await socket.send_text(error_body(shown).decode())
    return BAD_REQUEST if shown.status < 500 else FAILED


async def _until_gone(socket: WebSocket, work: Any) -> None:
    """Rows are sent until the client closes: it is listened to meanwhile."""
    sending = asyncio.ensure_future(work)
    listening = asyncio.ensure_future(_closed(socket))
    try:
        done, _ = await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
    finally:
        for each in (sending, listening):
            each.cancel()
        await asyncio.gather(sending, listening, return_exceptions=True)


async def _closed(socket: WebSocket) -> None:
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", DONE))


async def _rows(socket: WebSocket, query: ClientQuery) -> None:
    write = writers(query.columns)
    try:
        columns = [field_json(column) for column in query.columns]
        await socket.send_text(msgspec.json.encode(columns).decode())
        async for rows in batches(query):
            for row in rows:
                await socket.send_text(object_line(row, write).decode())
    finally:
        query.channel.close()


async def _print(socket: WebSocket, server: SqlServer, node: s.PrintTopic) -> None:
    async for line in Printing(server).lines(node):
        await socket.send_text(line.decode())
