"""The topics page: what there is, how much of it, how fast it grows; create and delete."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nicegui import ui

from penstock.console.components.controls import button, search_box, switch, text
from penstock.console.components.live import Live
from penstock.console.components.topic_table import (
    NO_MATCH,
    NO_TOPICS,
    ROWS_MAX,
    WAITING,
    TopicTable,
    TopicView,
)
from penstock.console.dialogs.create_topic import CreateTopicDialog
from penstock.console.dialogs.delete_topic import DeleteTopicDialog
from penstock.console.feed import Reading
from penstock.console.overview import Overview, TopicStats
from penstock.console.services import Services
from penstock.console.wording import counted


def topics_page(services: Services) -> None:
    ui.page_title(f"Topics · {services.title}")
    TopicsPage(services)


class TopicsPage:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._view = TopicView()
        self._reading: Reading[Overview] = Reading()
        with Live("section").classes("page") as page:
            self._build_head()
            self._build_toolbar()
            self._create = CreateTopicDialog(services)
            self._delete = DeleteTopicDialog(services)
            self._table = TopicTable()
            self._table.on("sort", lambda event: self._change(self._view.sorted_by(event.args)))
            self._table.on("remove", lambda event: self._delete.ask(event.args))
            self._foot = text("p", "", "page-foot")
        page.until_gone(services.overview.watch(self._receive))
        page.until_gone(services.disks.watch(lambda _: self._show()))

    def _build_head(self) -> None:
        with ui.element("div").classes("page-head"):
            with ui.element("div"):
                text("h1", "Topics", "page-title")
                self._note = text("p", "", "page-note")
            button("Create topic", self._open_create, kind="primary", symbol="plus").mark("create-topic")

    def _build_toolbar(self) -> None:
        with ui.element("div").classes("toolbar"):
            search_box("Search topics", self._search).mark("search-topics")
            with ui.element("div").classes("toolbar-end"):
                switch("Show internal topics", False, self._show_internal).mark("show-internal")

    def _open_create(self) -> None:
        self._create.ask()

    def _search(self, event: Any) -> None:
        self._change(replace(self._view, search=event.value or ""))

    def _show_internal(self, event: Any) -> None:
        self._change(replace(self._view, internal=bool(event.value)))

    def _change(self, view: TopicView) -> None:
        self._view = view
        self._show()

    def _receive(self, reading: Reading[Overview]) -> None:
        self._reading = reading
        if reading.error is None:
            self._show()

    def _show(self) -> None:
        overview = self._reading.value
        if overview is None:
            self._table.show([], self._view, WAITING)
            return
        topics = self._with_sizes(overview)
        chosen = self._view.chosen(topics)
        visible = [topic for topic in topics if self._view.internal or not topic.internal]
        self._table.show(chosen[:ROWS_MAX], self._view, NO_MATCH if visible else NO_TOPICS)
        partitions = sum(topic.partitions for topic in visible)
        self._note.set_text(f"{counted(len(visible), 'topic')} · {counted(partitions, 'partition')}")
        more = f"The first {ROWS_MAX} of {len(chosen):,} topics. Search to see others."
        self._foot.set_text(more if len(chosen) > ROWS_MAX else "")

    def _with_sizes(self, overview: Overview) -> list[TopicStats]:
        """Sizes come from the disks, which are asked less often than offsets."""
        disks = self._services.disks.reading.value
        sizes = {} if disks is None else disks.topic_sizes()
        return [replace(topic, size_bytes=sizes.get(topic.name)) for topic in overview.topics]
