"""The dead letters of a connector: how many wait, why the latest failed, and sending them again."""

from __future__ import annotations

import time
from urllib.parse import quote

from nicegui import background_tasks, ui

from penstock.client.errors import ClientError
from penstock.client.paging import Message
from penstock.console.backend import MessageQuery
from penstock.console.components.controls import button, text
from penstock.console.components.grid import Column, Grid, Row
from penstock.console.components.layout import panel
from penstock.console.dialogs.redrive import RedriveDialog
from penstock.console.following import address, headers_of, origin_of
from penstock.console.services import Services
from penstock.console.shapes import format_timestamp
from penstock.console.wording import UNKNOWN, counted

LETTERS_SHOWN = 20
FRESH_S = 5.0
LOOK_EVERY_S = 10.0
PREFIX = "__connect.errors."
COLUMNS = (
    Column("moment", "Timestamp (UTC)", "mono", "220px"),
    Column("source", "Came from", "text", "240px", "wide-only"),
    Column("why", "Could not be taken because", "text", "", "wrap"),
)
OPEN = {"title": "Not committed yet", "text": "They appear here when their transaction is committed."}
NONE = {"title": "No dead letters", "text": "Records that the connector cannot take appear here."}


class DeadLetters:
    def __init__(self, services: Services, connector: str) -> None:
        self._services, self._connector, self._topic = services, connector, ""
        with panel("Dead letters") as self._frame:
            with ui.element("div").classes("toolbar"):
                self._link = text("a", "", "").mark("letters-link")
                self._waiting = text("p", "", "panel-note").props("role=status").mark("letters-waiting")
                with ui.element("div").classes("toolbar-end"):
                    button("Look again", self.look, symbol="refresh").mark("letters-look")
                    self._send = button("Send again…", self._ask, symbol="refresh").mark("redrive")
            self._table = Grid("Dead letters", COLUMNS, NONE)
            self._dialog = RedriveDialog(services, connector, self.look)
        self._count, self._looked_at = 0, 0.0
        self._frame.set_visibility(False)

    def watch(self, topic: str) -> None:
        """Empty when the connector has no topic for them."""
        self._topic = topic
        self._frame.set_visibility(bool(topic))
        if topic:
            self._link.set_text(f"Topic {topic}")
            self._link.props(f'href="/topics/{quote(topic, safe="")}"')
            self.look()

    def keep_fresh(self) -> None:
        """Called often; looks again once in a while."""
        if self._topic and time.monotonic() - self._looked_at > LOOK_EVERY_S:
            self.look()

    def look(self) -> None:
        self._looked_at = time.monotonic()
        background_tasks.create(self._look(), name="dead letters", context=self._frame)

    async def _look(self) -> None:
        try:
            page = await self._services.backend.messages(MessageQuery(self._topic, limit=LETTERS_SHOWN))
            self._count = await self._not_sent()
        except ClientError as error:  # the topic appears with the first letter
            self._table.show([], {"title": "No dead letters", "text": str(error)})
            self._waiting.set_text("")
            self._send.set_enabled(False)
            return
        empty = OPEN if self._count else NONE
        self._table.show([_row(message) for message in page.messages], empty)
        self._waiting.set_text(f"{counted(self._count, 'letter')} not sent again yet")
        self._send.set_enabled(self._count > 0)

    async def _not_sent(self) -> int:
        """Letters behind the place that redrives have reached, which is that of a group of their own."""
        info = (await self._services.backend.topic(self._topic)).info
        groups = await self._services.groups.current(FRESH_S)
        name = f"connect-redrive-{self._connector}"
        sent = {
            at.lag.partition: at.lag.committed_offset
            for group in groups.groups
            if group.info.group_id == name
            for at in group.partitions
            if at.lag.topic == self._topic
        }
        starts = {p.index: max(p.log_start_offset or 0, sent.get(p.index, 0)) for p in info.partitions}
        return sum(max(0, (p.high_watermark or 0) - starts[p.index]) for p in info.partitions)

    def _ask(self) -> None:
        self._dialog.ask(self._count, self._topic)


def _row(message: Message) -> Row:
    headers = headers_of(message)
    origin = origin_of(headers)
    moment = format_timestamp(message.timestamp_ms) or UNKNOWN
    return {
        "id": f"{message.partition}/{message.offset}",
        "href": address(message.topic, message.partition, message.offset),
        "moment": moment.replace("T", " ").rstrip("Z"),
        "source": f"{origin[0]}, partition {origin[1]}, offset {origin[2]:,}" if origin else UNKNOWN,
        "why": headers.get(f"{PREFIX}exception.message") or UNKNOWN,
    }
