"""/inserts-stream: the first line names the target, each further line is a row; each row has an answer, in
order, which is sent while the request is still being read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec
from starlette.requests import ClientDisconnect

from penstock.client.errors import ClientError
from penstock.kernels.serdes import SerdeError
from penstock.security.operations import Operation
from penstock.sql.sources import DataSource
from penstock.sqlserver.answering import AnsweringResponse
from penstock.sqlserver.errors import BAD_REQUEST, SERVER_ERROR, KsqlError
from penstock.sqlserver.inserting import row_of_json
from penstock.sqlserver.json_lines import json_values
from penstock.sqlserver.reading_rights import check_topics
from penstock.sqlserver.server import SqlServer
from penstock.web import Call, HttpError

LINE_BYTES_MAX: Final = 10 * 1024 * 1024


class Inserts:
    def __init__(self, server: SqlServer) -> None:
        self._server = server

    async def stream(self, call: Call) -> Any:
        values = json_values(call.request.stream(), LINE_BYTES_MAX)
        try:
            first = await anext(values, None)
        except ValueError as error:
            raise KsqlError(f"Invalid JSON in inserts stream: {error}") from error
        if not isinstance(first, dict) or not isinstance(first.get("target"), str):
            raise KsqlError("The first line must be a JSON object with the field target: the stream or table")
        source = self._target(first["target"])
        await check_topics(self._server.rights, call.caller, Operation.WRITE, {source.topic})
        return AnsweringResponse(self._answers(values, source), call.media_type)

    def _target(self, given: str) -> DataSource:
        name = given[1:-1] if given[:1] == "`" == given[-1:] else given.upper()
        source = self._server.metastore.catalogue.sources.get(name)
        if source is None:
            raise KsqlError(f"Cannot insert values into an unknown stream/table: `{name}`")
        if source.read_only:
            raise KsqlError(f"Cannot insert values into read-only {source.kind.lower()}: {name}")
        if source.window is not None:
            raise KsqlError("Cannot insert values into windowed stream/table!")
        return source

    async def _answers(self, values: AsyncIterator[Any], source: DataSource) -> AsyncIterator[bytes]:
        number = -1
        try:
            async for value in values:
                number += 1
                yield await self._answer(source, value, number)
        except ValueError as error:
            yield _refused(number + 1, BAD_REQUEST, f"Invalid JSON in inserts stream: {error}")
        except ClientDisconnect:
            return

    async def _answer(self, source: DataSource, value: Any, number: int) -> bytes:
        try:
            if not isinstance(value, dict):
                raise KsqlError(f"{value!r:.80} is no row: a row is a JSON object")
            record = row_of_json(source, value, self._server.now_ms())
            await asyncio.to_thread(self._server.inserter.insert, record)
        except (HttpError, SerdeError) as error:
            return _refused(number, BAD_REQUEST, str(error))
        except ClientError as error:
            return _refused(number, SERVER_ERROR, str(error))
        return b'{"status":"ok","seq":%d}\n' % number


def _refused(number: int, code: int, message: str) -> bytes:
    body = {"status": "error", "seq": number, "error_code": code, "message": message}
    return msgspec.json.encode(body) + b"\n"
