"""A search through a whole topic: a filter, progress, a button that ends it, hits as they are found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from nicegui import background_tasks, ui

from penstock.client.errors import ClientError
from penstock.client.paging import Message
from penstock.console.components.controls import button, text, text_field
from penstock.console.components.layout import Notice
from penstock.console.filtering import EXAMPLES
from penstock.console.searching import HITS_MAX, Progress, SearchQuery
from penstock.console.services import Services
from penstock.console.wording import counted


class TopicSearch:
    def __init__(self, services: Services, topic: str, found: Callable[[Sequence[Message]], None]) -> None:
        self._services, self._topic, self._found = services, topic, found
        self._task: asyncio.Task[None] | None = None
        with ui.element("details").classes("search-all") as self._frame:
            text("summary", "Search the whole topic")
            with ui.element("div").classes("stack"):
                with ui.element("div").classes("toolbar"):
                    made = text_field("Filter", placeholder="value.total > 100 and header.source = web")
                    made.frame.classes("filter-field")
                    self._filter = made.control.mark("filter")
                    self._filter.on("keydown.enter", self._start)
                    button("Search", self._start, kind="primary", symbol="search").mark("search-all")
                    self._cancel = button("Cancel", self.stop, symbol="stop").mark("cancel-search")
                self._notice = Notice("search-notice")
                with ui.element("div").classes("progress") as self._bar:
                    self._done = ui.element("div")
                self._status = text("p", "", "panel-note").props("role=status").mark("search-status")
                with ui.element("ul").classes("hint-list"):
                    for example, meaning in EXAMPLES:
                        with ui.element("li"):
                            text("code", example)
                            text("span", f" {meaning}")
        self._show_running(False)

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _start(self) -> None:
        self.stop()
        self._notice.show("")
        query = SearchQuery(self._topic, self._filter.value or "")
        self._task = background_tasks.create(self._run(query), name="search", context=self._frame)

    async def _run(self, query: SearchQuery) -> None:
        hits: list[Message] = []
        try:
            search = await self._services.backend.search(query)
        except ClientError as error:
            self._notice.show(str(error))
            return
        self._show_running(True)
        self._found(hits)
        try:
            while not await self._step(await search.poll(), hits):
                pass
        except ClientError as error:
            self._notice.show(str(error))
        except asyncio.CancelledError:
            with suppress(RuntimeError):
                self._status.set_text(f"Cancelled. {self._status.text}")
            raise
        finally:
            with suppress(RuntimeError):
                self._show_running(False)
            await asyncio.shield(search.close())

    async def _step(self, progress: Progress, hits: list[Message]) -> bool:
        """True when the search is over."""
        if progress.hits:
            hits.extend(progress.hits)
            del hits[HITS_MAX:]
            self._found(hits)
        full = len(hits) >= HITS_MAX
        share = 100 * progress.scanned / progress.total if progress.total else 100
        self._done.style(f"width: {share:.1f}%")
        more = f". Ended at {HITS_MAX} hits: narrow the filter." if full else ""
        read = counted(progress.scanned, "record")
        self._status.set_text(f"{counted(len(hits), 'hit')} in {read} of {progress.total:,}{more}")
        return progress.done or full

    def _show_running(self, running: bool) -> None:
        self._cancel.set_visibility(running)
        self._bar.set_visibility(running)
