"""The messages page of a topic: facts about it, its messages from a chosen start, live when asked, and
producing one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from nicegui import background_tasks, ui

from penstock.client.errors import BrokerUnreachable, ClientError, TopicNotFound
from penstock.client.paging import Message, Newest
from penstock.console.components.controls import button, icon, search_box, switch, text
from penstock.console.components.layout import page_head, tabs
from penstock.console.components.live import Live
from penstock.console.components.message_table import ROWS_MAX, MessageTable
from penstock.console.components.query_form import QueryForm
from penstock.console.components.topic_facts import TopicFacts
from penstock.console.components.topic_head import TABS
from penstock.console.components.topic_search import TopicSearch
from penstock.console.dialogs.download_records import DownloadDialog
from penstock.console.dialogs.produce_record import ProduceRecordDialog
from penstock.console.feed import Reading
from penstock.console.following import record_at
from penstock.console.overview import Overview
from penstock.console.pages.message_list import MessageList
from penstock.console.services import Services
from penstock.console.wording import counted


def messages_page(services: Services, topic: str, asked: Mapping[str, str]) -> None:
    """`asked` are the parameters of the address: the same words as the API's, and `live`."""
    ui.page_title(f"{topic} · {services.title}")
    MessagesPage(services, topic, asked)


class MessagesPage:
    _list: MessageList

    def __init__(self, services: Services, topic: str, asked: Mapping[str, str]) -> None:
        self._services = services
        self._topic = topic
        self._partitions = 0
        self._gone = False
        self._complaint: ClientError | None = None
        with Live("section").classes("page") as self._page:
            self._build_head()
            self._facts = TopicFacts()
            self._build_toolbar(asked)
            self._build_notice()
            self._search = TopicSearch(services, topic, self._found)
            self._table = MessageTable(topic, services.backend.decoded_known)
            self._table.on("opened", lambda: self._list.pause())
            self._table.on("again", lambda event: self._again(event.args))
            self._build_foot()
            self._produce = ProduceRecordDialog(services, topic, self._produced)
            self._download = DownloadDialog(topic, self._form.address)
        self._list = MessageList(services, topic, self._table, self._show_state)
        self._start(asked)

    def _start(self, asked: Mapping[str, str]) -> None:
        self._show_state()
        self._page.until_gone(self._list.close)
        self._page.until_gone(self._search.stop)
        self._page.until_gone(self._services.overview.watch(self._receive))
        self._reload()
        if asked.get("live"):
            self._live.value = True

    # -- layout

    def _build_head(self) -> None:
        base = f"/topics/{quote(self._topic, safe='')}"
        with page_head(self._topic, (("Topics", "/topics"),), "Messages"):
            self._produce_button = button("Produce record", self._open_produce, kind="primary", symbol="send")
            self._produce_button.mark("produce-record")
        tabs("Topic", [(word, base + ending) for word, ending in TABS], "Messages")

    def _build_toolbar(self, asked: Mapping[str, str]) -> None:
        with ui.element("div").classes("toolbar"):
            self._form = QueryForm(asked, self._asked)
            search_box("Search in shown messages", self._searched).mark("search-messages")
            with ui.element("div").classes("toolbar-end"):
                self._pause = button("Pause", self._toggle_pause).mark("pause")
                self._live = switch("Live", False, self._live_changed).mark("live")

    def _build_notice(self) -> None:
        with ui.element("div").classes("notice").props("role=alert") as self._notice:
            icon("warning")
            self._notice_text = text("span", "").mark("notice")
        self._notice.set_visibility(False)

    def _build_foot(self) -> None:
        with ui.element("div").classes("page-foot"):
            self._count = text("p", "").props("role=status").mark("count")
            with ui.element("div").classes("page-acts"):
                button("Download", self._open_download, symbol="download").mark("download")
                self._more = button("Load older", self._load_more).mark("more")

    # -- what the user does

    def _asked(self) -> None:
        """The form wants another page. Only the newest messages can be live."""
        if not self._form.from_newest:
            self._list.stop_live()
        self._reload()

    def _searched(self, event: Any) -> None:
        self._list.set_search(event.value or "")

    def _live_changed(self, event: Any) -> None:
        if not event.value:
            self._list.stop_live()
            return
        try:
            self._list.go_live(self._reload)
        except ClientError as error:
            self._complain(error)
            return
        self._form.choose_newest()

    def _toggle_pause(self) -> None:
        if self._list.paused:
            self._list.resume()
        else:
            self._list.pause()

    async def _load_more(self) -> None:
        await self._list.load_more()

    def _open_produce(self) -> None:
        self._produce.ask(self._partitions)

    def _open_download(self) -> None:
        self._download.open()

    async def _again(self, place: Mapping[str, int]) -> None:
        """The record as it was, in the dialog that writes one."""
        try:
            message = await record_at(self._services, self._topic, place["partition"], place["offset"])
            decoded = await self._services.backend.decoded(message, False)
        except ClientError as error:
            self._complain(error)
            return
        self._produce.again(message, decoded, self._partitions)

    def _produced(self) -> None:
        self._services.overview.refresh()
        if not self._list.live and self._form.from_newest:
            self._reload()

    def _found(self, messages: Sequence[Message]) -> None:
        """Hits of a search through the whole topic, in place of what was shown."""
        self._list.show_found(messages)

    # -- what comes in

    def _reload(self) -> None:
        self._remember()
        self._complaint = None
        if self._form.waits_for_typing:
            self._show_state()
            return
        try:
            query = self._form.query(self._topic)
        except ClientError as error:
            self._complain(error)
            return
        self._in_background(self._list.load(query))

    def _receive(self, reading: Reading[Overview]) -> None:
        if reading.error is not None or reading.value is None:
            return
        stats = reading.value.topic(self._topic)
        self._gone = stats is None
        self._show_state()
        if stats is None:
            return
        if isinstance(self._list.error, BrokerUnreachable | TopicNotFound):
            self._reload()  # it is there again
        self._facts.show(stats)
        self._in_background(self._facts.load(self._services.backend, self._topic))
        if stats.partitions != self._partitions:
            self._partitions = stats.partitions
            self._form.offer_partitions(stats.partitions)

    def _show_state(self) -> None:
        listed = self._list
        self._show_notice()
        self._produce_button.set_enabled(not self._gone)
        self._live.value = listed.live
        self._pause.set_visibility(listed.live)
        resume = f"Resume ({listed.held:,} new)" if listed.held else "Resume"
        self._pause.label_element.set_text(resume if listed.paused else "Pause")
        self._more.set_visibility(listed.has_more)
        older = isinstance(listed.query.start, Newest)
        self._more.label_element.set_text("Load older" if older else "Load more")
        self._count.set_text(self._counts())

    def _show_notice(self) -> None:
        """What is wrong with the form, or with the topic; the banner of the frame speaks of the broker."""
        gone = TopicNotFound(self._topic) if self._gone else None
        error = self._complaint or gone or self._list.error
        told_above = error is None or isinstance(error, BrokerUnreachable)
        self._notice.set_visibility(not told_above)
        self._notice_text.set_text("" if told_above else str(error))

    def _counts(self) -> str:
        listed = self._list
        if listed.error is not None:
            return ""
        words = [counted(listed.shown, "message")]
        if listed.search and listed.shown != len(listed.loaded):
            words = [f"{listed.shown:,} of {counted(len(listed.loaded), 'message')} match"]
        if len(listed.loaded) >= ROWS_MAX:
            words.append(f"the most that one view holds is {ROWS_MAX:,}")
        if listed.skipped:
            words.append(f"{listed.skipped:,} skipped to keep up")
        return " · ".join(words)

    def _complain(self, error: ClientError) -> None:
        self._complaint = error
        self._show_state()

    # -- how

    def _remember(self) -> None:
        """Put the choice into the address, so that reloading or sharing it shows the same."""
        asked = self._form.address() | ({"live": "1"} if self._list.live else {})
        path = f"/topics/{quote(self._topic)}" + (f"?{urlencode(asked)}" if asked else "")
        address = f"(window.path_prefix || '') + {json.dumps(path)}"
        self._page.client.run_javascript(f"history.replaceState(history.state, '', {address})")

    def _in_background(self, work: Any) -> None:
        background_tasks.create(work, name=f"messages of {self._topic}", context=self._page)
