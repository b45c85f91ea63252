"""The SQL page: an editor, rows as they come, and what runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from nicegui import background_tasks, ui

from penstock.client.errors import ClientError
from penstock.console.components.code_view import CodeView
from penstock.console.components.controls import button, notify, text
from penstock.console.components.editor import code_editor
from penstock.console.components.grid import Action, Column, Grid, Row
from penstock.console.components.layout import Away, Notice, page_head, panel
from penstock.console.components.live import Live
from penstock.console.components.pipeline_graph import PipelineGraph
from penstock.console.components.sql_words import SqlWords
from penstock.console.feed import Reading
from penstock.console.plan_graph import plan_graph
from penstock.console.services import Services
from penstock.console.sql_client import Columns, RunningQuery, Source, SqlState, is_select
from penstock.console.wording import counted

ROWS_SHOWN = 500
TICK_S = 0.3
DESCRIBED_MAX = 50
"""Streams and tables whose columns the editor offers."""
START = "SHOW STREAMS;"
QUERIES = (
    Column("query", "Query"),
    Column("state", "State", "tag", "110px"),
    Column("kind", "Kind", "text", "120px", "wide-only"),
    Column("sinks", "Writes", "text", "200px", "wide-only"),
    Column("text", "Statement", "mono", "", "wrap wide-only"),
)
SOURCES = (
    Column("name", "Name"),
    Column("kind", "Kind", "tag", "90px"),
    Column("topic", "Topic", "text", "220px"),
    Column("format", "Format", "text", "110px", "wide-only"),
)
TERMINATE = Action("terminate", "Terminate", "stop", danger=True)
EXPLAIN = Action("explain", "Explain", "route")
NO_QUERIES = {"title": "No queries run", "text": "CREATE STREAM … AS SELECT starts one that never ends."}
NO_SOURCES = {
    "title": "No streams or tables",
    "text": "CREATE STREAM … WITH (KAFKA_TOPIC = …) names a topic's columns.",
}
TONES = {"RUNNING": "good", "ERROR": "bad", "PAUSED": "warn"}


def sql_page(services: Services, _name: str, asked: Mapping[str, str]) -> None:
    ui.page_title(f"SQL · {services.title}")
    SqlPage(services, asked.get("statement", START))


class SqlPage:
    def __init__(self, services: Services, statement: str) -> None:
        self._services = services
        self._running: asyncio.Task[None] | None = None
        self._sources_known: dict[str, str] | None = None
        self._functions: list[str] = []
        about = services.sql.service.about
        with Live("section").classes("page") as self._page:
            with page_head("SQL") as self._note:
                pass
            self._away = Away(f"The {about.name} server", about.command, about.describes)
            with ui.element("div").classes("stack") as self._body:
                self._build_editor(statement)
                self._build_answers()
                self._build_catalogue()
        self._page.until_gone(self._stop)
        self._page.until_gone(services.sql_state.watch(self._receive))

    def _build_editor(self, statement: str) -> None:
        with ui.element("div").classes("card editor-card stack"):
            self._editor = code_editor("SQL", statement, label="Statement", height="150px").mark("statement")
            self._words = SqlWords(self._editor)
            with ui.element("div").classes("toolbar"):
                self._run_button = button("Run", self._run, kind="primary", symbol="play").mark("run")
                button("Explain", self._explain, symbol="route").mark("explain")
                self._stop_button = button("Stop", self._stop, symbol="stop").mark("stop-query")
                self._status = text("p", "", "page-note").props("role=status").mark("sql-status")
            self._stop_button.set_visibility(False)

    def _build_answers(self) -> None:
        self._notice = Notice("sql-notice")
        with ui.element("div") as self._results:
            pass
        self._answer = CodeView("Answer", "sql-answer")
        self._graph = PipelineGraph("The plan of the query")
        self._clear()

    def _build_catalogue(self) -> None:
        with panel("Running queries"):
            self._queries = Grid("Running queries", QUERIES, NO_QUERIES, actions=(EXPLAIN, TERMINATE))
        with panel("Streams and tables"):
            self._sources = Grid("Streams and tables", SOURCES, NO_SOURCES, sort="name", opens=True)
        self._queries.on("act", lambda event: self._act(event.args["action"], event.args["id"]))
        self._sources.on("open", lambda event: self._offer(event.args))

    # -- what the user does

    async def _run(self) -> None:
        statement = (self._editor.value or "").strip()
        self._stop()
        self._clear()
        if is_select(statement):
            self._running = background_tasks.create(
                self._select(statement), name="select", context=self._page
            )
            return
        try:
            answers = await self._services.sql.execute(statement)
        except ClientError as error:
            self._notice.show(str(error))
            return
        self._show_answers(answers)
        self._services.sql_state.refresh()

    async def _explain(self, what: str = "") -> None:
        self._clear()
        try:
            found = await self._services.sql.explain(what or self._editor.value or "")
        except ClientError as error:
            self._notice.show(str(error))
            return
        self._graph.set_visibility(True)
        self._graph.show(plan_graph(found.get("topology") or ""))
        self._show_text(found.get("executionPlan") or "")

    def _offer(self, name: str) -> None:
        self._editor.value = f"SELECT * FROM {name} EMIT CHANGES LIMIT 20;"

    def _act(self, action: str, query_id: str) -> None:
        work = self._explain(query_id) if action == "explain" else self._terminate(query_id)
        background_tasks.create(work, name=f"{action} {query_id}", context=self._page)

    async def _terminate(self, query_id: str) -> None:
        try:
            await self._services.sql.terminate(query_id)
        except ClientError as error:
            self._notice.show(str(error))
            return
        self._services.sql_state.refresh()
        with self._page:
            notify(f"Terminated {query_id}")

    def _stop(self) -> None:
        if self._running is not None:
            self._running.cancel()
            self._running = None

    # -- rows

    async def _select(self, statement: str) -> None:
        self._stop_button.set_visibility(True)
        self._status.set_text("Running")
        rows = _Rows(self)
        try:
            async with self._services.sql.rows(statement) as found:
                async for each in found:
                    rows.take(each)
            rows.flush()
            self._status.set_text(f"Ended after {counted(rows.count, 'row')}")
        except ClientError as error:
            self._notice.show(str(error))
            self._status.set_text("")
        except asyncio.CancelledError:
            with suppress(RuntimeError):
                rows.flush()
                self._status.set_text(f"Stopped after {counted(rows.count, 'row')}")
            raise
        finally:
            with suppress(RuntimeError):
                self._stop_button.set_visibility(False)

    def begin_rows(self, columns: Columns) -> Grid:
        with self._results:
            return Grid(
                "Rows",
                [Column(f"c{at}", name, "mono") for at, name in enumerate(columns.names)],
                {"title": "No rows yet", "text": "They appear here as they come."},
            )

    def say(self, sentence: str) -> None:
        self._status.set_text(sentence)

    # -- what comes in

    def _receive(self, reading: Reading[SqlState]) -> None:
        self._away.show(None if reading.error is None else str(reading.error))
        self._body.set_visibility(reading.error is None)
        if reading.value is None or reading.error is not None:
            return
        sources = {each.name: each.kind for each in reading.value.sources}
        if sources != self._sources_known:
            self._sources_known = sources
            background_tasks.create(self._learn(sources), name="words", context=self._page)
        self._queries.show([_query_row(each) for each in reading.value.queries])
        self._sources.show([_source_row(each) for each in reading.value.sources])
        queries = len(reading.value.queries)
        running = "1 query runs" if queries == 1 else f"{queries} queries run"
        self._note.set_text(f"{running} · {len(reading.value.sources)} streams and tables")

    async def _learn(self, sources: dict[str, str]) -> None:
        """What the editor offers to complete; a server that refuses leaves the words of the language."""
        names = list(sources.items())
        with suppress(ClientError):
            self._functions = self._functions or await self._services.sql.functions()
            for source in list(sources)[:DESCRIBED_MAX]:
                names += await self._services.sql.columns(source)
        self._words.show(names, self._functions)

    def _clear(self) -> None:
        self._notice.show("")
        self._status.set_text("")
        self._results.clear()
        self._show_text("")
        self._graph.set_visibility(False)

    def _show_text(self, content: str) -> None:
        self._answer.show(content)
        self._answer.set_visibility(bool(content))

    def _show_answers(self, answers: list[dict[str, Any]]) -> None:
        self._show_text("\n\n".join(_worded(answer) for answer in answers))


class _Rows:
    """Rows on their way to the page: a few updates a second are enough for eyes."""

    def __init__(self, page: SqlPage) -> None:
        self._page = page
        self._grid: Grid | None = None
        self._rows: list[Row] = []
        self._flushed_at = 0.0
        self.count = 0

    def take(self, each: Columns | list[Any]) -> None:
        if isinstance(each, Columns):
            self._grid = self._page.begin_rows(each)
            return
        self.count += 1
        cells = {f"c{at}": _cell(value) for at, value in enumerate(each)}
        self._rows.insert(0, {"id": str(self.count), **cells})
        del self._rows[ROWS_SHOWN:]
        now = asyncio.get_running_loop().time()
        if now - self._flushed_at >= TICK_S:
            self._flushed_at = now
            self.flush()

    def flush(self) -> None:
        if self._grid is not None:
            self._grid.show(list(self._rows))
            self._page.say(f"{counted(self.count, 'row')}, newest first")


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _worded(answer: dict[str, Any]) -> str:
    """The message of a command, or what was listed."""
    status = answer.get("commandStatus")
    if status:
        return str(status.get("message") or status.get("status"))
    hidden = ("@type", "statementText", "warnings")
    return json.dumps({key: value for key, value in answer.items() if key not in hidden}, indent=2)


def _query_row(each: RunningQuery) -> Row:
    return {
        "id": each.query_id,
        "query": each.query_id,
        "state": {"text": each.state.lower(), "tone": TONES.get(each.state.upper(), "plain")},
        "kind": each.kind.lower(),
        "sinks": ", ".join(each.sinks),
        "text": each.text,
    }


def _source_row(each: Source) -> Row:
    return {"id": each.name, "name": each.name, "kind": each.kind, "topic": each.topic, "format": each.format}
