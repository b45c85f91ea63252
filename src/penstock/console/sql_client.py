"""What the console asks of the SQL server: statements, rows of a SELECT as they come, running queries."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from penstock.console.rest_service import RestService, ServiceRefused

_SELECT = re.compile(r"\s*(?:--[^\n]*\n\s*)*(select|print)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Columns:
    names: tuple[str, ...]
    query_id: str = ""


@dataclass(frozen=True, slots=True)
class RunningQuery:
    query_id: str
    kind: str
    state: str
    text: str
    sinks: tuple[str, ...]
    """Streams and tables that it writes."""
    sources: tuple[str, ...] = ()
    """Streams and tables that it reads."""
    topology: str = ""

    @property
    def failed(self) -> bool:
        return self.state.upper() == "ERROR"


@dataclass(frozen=True, slots=True)
class Source:
    """A stream or a table, and the topic behind it."""

    name: str
    kind: str
    topic: str
    format: str


@dataclass(frozen=True, slots=True)
class SqlState:
    queries: tuple[RunningQuery, ...]
    sources: tuple[Source, ...]

    def topic_of(self, source: str) -> str:
        return next((each.topic for each in self.sources if each.name == source), "")


class SqlClient:
    def __init__(self, service: RestService) -> None:
        self.service = service

    async def execute(self, text: str) -> list[dict[str, Any]]:
        """Statements, one after another; the server's answer for each."""
        found = await self.service.ask("POST", "ksql", body={"ksql": text, "streamsProperties": {}})
        return [found] if isinstance(found, dict) else list(found or ())

    async def state(self) -> SqlState:
        answers = await self.execute("SHOW QUERIES EXTENDED; SHOW STREAMS; SHOW TABLES;")
        queries: list[RunningQuery] = []
        sources: list[Source] = []
        for answer in answers:
            queries += [_query(each) for each in answer.get("queryDescriptions") or ()]
            for kind in ("streams", "tables"):
                sources += [_source(each, kind) for each in answer.get(kind) or ()]
        return SqlState(tuple(queries), tuple(sources))

    async def columns(self, source: str) -> list[tuple[str, str]]:
        """Names and types of a stream's or a table's columns."""
        (answer,) = await self.execute(f"DESCRIBE `{source}`;")
        fields = answer.get("sourceDescription", {}).get("fields", ())
        return [(each["name"], str(each.get("schema", {}).get("type", ""))) for each in fields]

    async def functions(self) -> list[str]:
        (answer,) = await self.execute("SHOW FUNCTIONS;")
        return sorted(each["name"] for each in answer.get("functions") or ())

    async def explain(self, text: str) -> dict[str, Any]:
        """The description of a query, by its id or by its text."""
        (answer,) = await self.execute(f"EXPLAIN {text.strip().rstrip(';')};")
        return dict(answer["queryDescription"])

    async def terminate(self, query_id: str) -> None:
        await self.execute(f"TERMINATE {query_id};")

    @asynccontextmanager
    async def rows(self, text: str) -> AsyncIterator[AsyncIterator[Columns | list[Any]]]:
        """The columns, then each row as it comes; leaving the block ends the query."""
        body = {"sql": text, "properties": {"auto.offset.reset": "earliest"}}
        async with self.service.lines("POST", "/query-stream", body) as lines:
            yield _rows(lines)


def is_select(text: str) -> bool:
    return _SELECT.match(text) is not None


async def _rows(lines: AsyncIterator[str]) -> AsyncIterator[Columns | list[Any]]:
    async for line in lines:
        if not line.strip():
            continue  # says only that the server is there
        found = json.loads(line)
        if isinstance(found, list):
            yield found
        elif "columnNames" in found:
            yield Columns(tuple(found["columnNames"]), found.get("queryId") or "")
        elif found.get("@type", "").endswith("error") or "error_code" in found:
            code = int(found.get("error_code") or 0)
            raise ServiceRefused("SQL", code // 100 or 400, code, found.get("message", ""))


def _query(found: dict[str, Any]) -> RunningQuery:
    return RunningQuery(
        found["id"],
        found.get("queryType") or "PERSISTENT",
        found.get("state") or "",
        found.get("statementText") or "",
        tuple(found.get("sinks") or ()),
        tuple(found.get("sources") or ()),
        found.get("topology") or "",
    )


def _source(found: dict[str, Any], kind: str) -> Source:
    return Source(found["name"], kind[:-1], found["topic"], found.get("valueFormat") or "")
