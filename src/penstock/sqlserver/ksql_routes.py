"""/ksql and /ksql/terminate."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from penstock.sqlserver.executing import execute
from penstock.sqlserver.queries import ClientQueries
from penstock.sqlserver.server import SqlServer
from penstock.web import Call

MOST_AT_ONCE: Final = 32
"""Requests that are executed at a time: one may wait long, for a topic or for the cluster. More wait here."""


class Statements:
    def __init__(self, server: SqlServer, queries: ClientQueries) -> None:
        self._server, self._queries = server, queries
        self._threads = ThreadPoolExecutor(MOST_AT_ONCE, "statements")
        """Of their own, so that queries do not wait for statements."""

    async def ksql(self, call: Call) -> Any:
        body = call.body
        await self._server.wait_for_command(body.command_sequence_number)
        variables = {name: str(value) for name, value in body.session_variables.items()}
        return await self._executed(body.ksql, body.streams_properties, variables)

    async def terminate(self, call: Call) -> Any:
        """All queries end, persistent ones and those of clients; sources and topics stay."""
        self._queries.close_all()
        return await self._executed("TERMINATE ALL;", {}, {})

    async def _executed(self, text: str, given: Mapping[str, Any], variables: Mapping[str, str]) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, execute, self._server, text, given, variables)
