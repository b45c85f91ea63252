"""The pipelines page: everything that moves records, as a live graph and as a table."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from penstock.console.components.controls import search_box
from penstock.console.components.grid import Column, Grid, Row
from penstock.console.components.layout import Notice, page_head, panel
from penstock.console.components.live import Live
from penstock.console.components.mirror_tables import MirrorTables
from penstock.console.components.pipeline_graph import PipelineGraph
from penstock.console.feed import Reading
from penstock.console.mirrors import MirrorFlow
from penstock.console.observing import pipelines_read
from penstock.console.pipelines import Pipeline, pipeline_graph
from penstock.console.services import Services
from penstock.console.wording import counted

COLUMNS = (
    Column("name", "Pipeline"),
    Column("kind", "Kind", "tag", "110px"),
    Column("state", "State", "tag", "120px"),
    Column("reads", "Reads", "text", "200px", "wide-only"),
    Column("writes", "Writes", "text", "200px", "wide-only"),
    Column("rate", "Records/s", "rate", "100px", "wide-only"),
    Column("batch", "Batch", "seconds", "90px", "wide-only"),
    Column("state_bytes", "State", "bytes", "90px", "wide-only"),
    Column("lag", "Lag, records", "number", "120px"),
    Column("seconds", "Lag, time", "seconds", "100px"),
)
NONE = {"title": "No pipelines yet", "text": "A consumer, a SQL query or a connector makes one."}


def pipelines_page(services: Services) -> None:
    ui.page_title(f"Pipelines · {services.title}")
    PipelinesPage(services)


class PipelinesPage:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._search = ""
        with Live("section").classes("page") as page:
            with page_head("Pipelines") as self._note:
                pass
            with ui.element("div").classes("toolbar"):
                search_box("Search pipelines and topics", self._searched).mark("search-pipelines")
            self._notice = Notice("pipelines-notice", tone="calm")
            self._graph = PipelineGraph("Topics and pipelines")
            with panel("All pipelines"):
                self._table = Grid("Pipelines", COLUMNS, NONE, sort="lag", descending=True)
            self._mirrors = MirrorTables()
        feeds = (services.overview, services.groups, services.sql_state, services.connector_states)
        for feed in (*feeds, services.batches):
            page.until_gone(feed.watch(lambda _: self._show()))
        page.until_gone(services.mirrors.watch(self._show_mirrors))

    def _searched(self, event: Any) -> None:
        self._search = (event.value or "").strip().casefold()
        self._show()

    def _show(self) -> None:
        services = self._services
        overview = services.overview.reading.value
        found = [each for each in pipelines_read(services) if self._matches(each)]
        self._graph.show(pipeline_graph(found, overview))
        self._table.show([_row(each) for each in found])
        bad = sum(each.tone == "bad" for each in found)
        self._note.set_text(counted(len(found), "pipeline") + (f" · {bad} failed" if bad else ""))
        away = [
            feed.reading.error
            for feed in (services.sql_state, services.connector_states)
            if feed.reading.error is not None
        ]
        self._notice.show(" ".join(f"Not shown: {error}" for error in away))

    def _show_mirrors(self, reading: Reading[list[MirrorFlow]]) -> None:
        self._mirrors.show((reading.value or []) if reading.error is None else [])

    def _matches(self, each: Pipeline) -> bool:
        return any(self._search in name.casefold() for name in (each.name, *each.reads, *each.writes))


def _row(each: Pipeline) -> Row:
    return {
        "id": f"{each.kind} {each.name}",
        "href": each.href,
        "name": each.name,
        "kind": each.kind,
        "state": {"text": each.state.lower(), "tone": each.tone},
        "reads": ", ".join(each.reads),
        "writes": ", ".join(each.writes),
        "rate": None if each.batches is None else each.batches.rate,
        "batch": None if each.batches is None else each.batches.seconds,
        "state_bytes": None if each.batches is None else each.batches.state_bytes,
        "lag": each.lag,
        "seconds": each.seconds,
    }
