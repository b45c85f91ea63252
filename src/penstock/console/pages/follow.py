"""The page of one record: where it came from, what has read it, what was made from it, what is not known."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import quote

from nicegui import background_tasks, ui

from penstock.client.errors import ClientError
from penstock.client.paging import Message
from penstock.console.components.code_view import CodeView
from penstock.console.components.controls import button, text
from penstock.console.components.grid import Column, Grid, Row
from penstock.console.components.layout import Facts, Notice, page_head, panel
from penstock.console.components.live import Live
from penstock.console.decoding import show
from penstock.console.following import Clue, Followed, address, followed, record_at
from penstock.console.following_search import FOUND_MAX, Descendant, Step, descendants
from penstock.console.query import parse_number
from penstock.console.services import Services
from penstock.console.shapes import format_timestamp
from penstock.console.wording import UNKNOWN, bytes_text, counted

SHOWN_BYTES = 64 * 1024
STATES = {"yes": ("known", "good"), "no": ("not yet", "warn"), "maybe": ("likely", "plain")}
CLUES = (
    Column("what", "What", "text", "260px"),
    Column("state", "Proof", "tag", "110px"),
    Column("sentence", "Says", "text", "", "wrap"),
)
MADE = (
    Column("topic", "Record"),
    Column("state", "Proof", "tag", "110px"),
    Column("why", "Because of", "text", "200px"),
    Column("moment", "Timestamp (UTC)", "mono", "220px", "wide-only"),
)
NO_SOURCE = {
    "title": "Nothing is known of its source",
    "text": "It has no headers, and its batch names nobody.",
}
NO_READERS = {
    "title": "No group has committed in this partition",
    "text": "A consumer appears here once it has committed an offset.",
}
NO_TOPICS = {
    "title": "No pipeline that reads this topic writes another one",
    "text": "As far as SQL, Connect and the topics of Streams applications say.",
}
NOTHING = {"title": "None found", "text": "No record after it names it, has its trace or its key."}
LOOKING = {"title": "Looking", "text": "Records appear here as they are found."}


def follow_page(services: Services, topic: str, asked: Mapping[str, str]) -> None:
    """The address names the record: /follow/TOPIC?partition=3&offset=1042."""
    ui.page_title(f"A record of {topic} · {services.title}")
    FollowPage(services, topic, asked)


class FollowPage:
    def __init__(self, services: Services, topic: str, asked: Mapping[str, str]) -> None:
        self._services, self._topic = services, topic
        self._search: asyncio.Task[None] | None = None
        home = f"/topics/{quote(topic, safe='')}"
        with Live("section").classes("page") as self._page:
            place = f"Partition {asked.get('partition', '?')}, offset {asked.get('offset', '?')}"
            with page_head(place, (("Topics", "/topics"), (topic, home)), "Follow"):
                self._cancel = button("Stop looking", self._stop, symbol="stop").mark("stop-looking")
            self._notice = Notice("follow-notice")
            self._facts = Facts(("Timestamp (UTC)", "Key", "Value", "Headers"))
            self._value = CodeView("Value", "followed-value")
            with panel("Where it came from", "What its headers and its batch say."):
                self._source = Grid("Where it came from", CLUES, NO_SOURCE)
            with panel("What has read it", "By committed offsets."):
                self._readers = Grid("What has read it", CLUES, NO_READERS)
            with panel(
                "Made from it", "Found in the topics downstream: by header or trace for sure, by key perhaps."
            ):
                self._progress = text("p", "", "panel-note").props("role=status").mark("follow-progress")
                self._made = Grid("Made from it", MADE, NO_TOPICS)
            with panel("What cannot be known"):
                self._unknown = ui.element("ul").classes("hint-list")
        self._cancel.set_visibility(False)
        self._page.until_gone(self._stop)
        background_tasks.create(self._open(asked), name="follow", context=self._page)

    async def _open(self, asked: Mapping[str, str]) -> None:
        try:
            partition = parse_number("partition", asked.get("partition", ""), most=2**31 - 1)
            offset = parse_number("offset", asked.get("offset", ""))
            message = await record_at(self._services, self._topic, partition, offset)
            self._show_record(message, await self._text(message))
            found = await followed(self._services, self._topic, partition, offset)
        except ClientError as error:
            self._notice.show(str(error))
            return
        self._show(found)
        if found.written_to:
            work = self._look(message, found.written_to)
            self._search = background_tasks.create(work, name="made from it", context=self._page)

    async def _text(self, message: Message) -> str:
        decoded = await self._services.backend.decoded(message, False)
        if decoded is not None and not decoded.failed:
            return show(decoded.text.encode(), SHOWN_BYTES).text
        return show(message.value, SHOWN_BYTES).text or ("null" if message.value is None else "empty")

    def _show_record(self, message: Message, value: str) -> None:
        key = show(message.key, 200).text if message.key is not None else "none"
        self._facts.show(
            **{"timestamp_(utc)": _moment(message)},
            key=key,
            value=bytes_text(len(message.value)) if message.value is not None else "null",
            headers=str(len(message.headers)),
        )
        self._value.show(value)

    def _show(self, found: Followed) -> None:
        self._source.show([_clue(at, each) for at, each in enumerate(found.source)])
        self._readers.show([_clue(at, each) for at, each in enumerate(found.readers)])
        with self._unknown:
            for sentence in found.unknown:
                text("li", sentence)

    async def _look(self, message: Message, topics: list[str]) -> None:
        made: list[Descendant] = []
        self._cancel.set_visibility(True)
        self._made.show([], LOOKING)
        steps: dict[str, Step] = {}
        try:
            async for step in descendants(self._services.backend, message, topics):
                steps[step.topic] = step
                made += step.found
                del made[FOUND_MAX:]
                self._show_made(made, steps, len(topics))
                if len(made) >= FOUND_MAX:
                    break
        except ClientError as error:
            self._notice.show(str(error))
        finally:
            with suppress(RuntimeError):  # the page may be gone
                self._cancel.set_visibility(False)
                self._made.show([_made_row(each) for each in _sorted(made)], NOTHING)

    def _show_made(self, made: list[Descendant], steps: Mapping[str, Step], topics: int) -> None:
        scanned = sum(step.scanned for step in steps.values())
        where = f"{len(steps)} of {counted(topics, 'topic')}"
        self._progress.set_text(f"{counted(scanned, 'record')} looked at in {where}")
        if made:
            self._made.show([_made_row(each) for each in _sorted(made)])

    def _stop(self) -> None:
        if self._search is not None:
            self._search.cancel()
            self._search = None


def _clue(at: int, clue: Clue) -> Row:
    word, tone = STATES.get(clue.state, ("", "plain"))
    found: Row = {
        "id": str(at),
        "what": clue.what,
        "sentence": clue.sentence,
        "state": {"text": word, "tone": tone},
    }
    return found | ({"href": clue.page} if clue.page else {})


def _moment(message: Message) -> str:
    return (format_timestamp(message.timestamp_ms) or UNKNOWN).replace("T", " ").rstrip("Z")


def _sorted(made: list[Descendant]) -> list[Descendant]:
    """What is proved first."""
    return sorted(made, key=lambda each: not each.proved)


def _made_row(each: Descendant) -> Row:
    message = each.message
    place = (message.topic, message.partition, message.offset)
    return {
        "id": "/".join(map(str, place)),
        "topic": f"{message.topic}, partition {message.partition}, offset {message.offset:,}",
        "why": each.why,
        "moment": _moment(message),
        "state": {"text": "known" if each.proved else "perhaps", "tone": "good" if each.proved else "plain"},
        "href": address(*place),
    }
