"""/ksql and /ksql/terminate."""

from __future__ import annotations

import asyncio
from typing import Any

from penstock.sqlserver.executing import execute
from penstock.sqlserver.queries import ClientQueries
from penstock.sqlserver.server import SqlServer
from penstock.web import Call


class Statements:
    def __init__(self, server: SqlServer, queries: ClientQueries) -> None:
        self._server, self._queries = server, queries
        self._one_at_a_time = asyncio.Lock()
        """Requests that change something are executed in the order in which they come."""

    async def ksql(self, call: Call) -> Any:
        body = call.body
        variables = {name: str(value) for name, value in body.session_variables.items()}
        async with self._one_at_a_time:
            return await asyncio.to_thread(
                execute, self._server, body.ksql, body.streams_properties, variables
            )

    async def terminate(self, call: Call) -> Any:
        """All queries end, persistent ones and those of clients; sources and topics stay."""
        self._queries.close_all()
        async with self._one_at_a_time:
            return await asyncio.to_thread(execute, self._server, "TERMINATE ALL;", {}, {})
