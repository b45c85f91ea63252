"""What the messages page shows, without its layout: pages read, the text search, and the live tail with its
pause.

Bounded by the table's `ROWS_MAX`, and by `LIVE_ROWS_MAX` while live. Going live first fixes the end of the
topic, then reads the newest page, then adds what came after the end and is not on that page: nothing is
missed and nothing is shown twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

from penstock.client.errors import ClientError
from penstock.client.paging import Message, Newest
from penstock.console.backend import MessageQuery, TailBatch
from penstock.console.components.message_table import (
    FAILED,
    LIVE_ROWS_MAX,
    NO_MATCH,
    NO_MESSAGES,
    NOTHING_HERE,
    ROWS_MAX,
    WAITING,
    MessageTable,
)
from penstock.console.decoding import searchable
from penstock.console.services import Services
from penstock.console.tails import Watcher

SEARCH_BYTES = 16 * 1024


class MessageList:
    """State and its changes; `changed` is called after each, for the page to show counts and buttons."""

    def __init__(
        self, services: Services, topic: str, table: MessageTable, changed: Callable[[], None]
    ) -> None:
        self._services = services
        self._table = table
        self._changed = changed
        self.query = MessageQuery(topic)
        self.error: ClientError | None = None
        self.loaded: list[Message] = []
        self.search = ""
        self.paused = False
        self.skipped = 0
        self._more: MessageQuery | None = None
        self._loading = 0
        self._busy = False
        self._pending: deque[Message] = deque(maxlen=LIVE_ROWS_MAX)
        self._held = 0
        self._leave: Callable[[], None] | None = None
        self._closed = False

    def close(self) -> None:
        """The page is gone: nothing may be shown any more."""
        self._closed = True
        self._loading += 1
        if self._leave is not None:
            self._leave()

    # -- reading

    async def load(self, query: MessageQuery) -> None:
        """Replace what is shown. Of several loads at a time the last one wins."""
        if self._closed:  # before its first load: the address went on behind this page's, to nothing
            return
        self.query = query
        self._loading += 1
        ticket = self._loading
        self._busy = True
        self._table.load()
        try:
            page = await self._services.backend.messages(query)
            await self._services.backend.learn(page.messages)
        except ClientError as error:
            if ticket == self._loading:
                self._failed(error)
            return
        if ticket != self._loading:
            return
        self.error = None
        self.loaded = list(page.messages)
        self._more = None if page.next is None else replace(query, start=page.next)
        self._busy = False
        self._show()
        self._release()

    async def load_more(self) -> None:
        """Add the following page below."""
        if self._more is None or self._busy:
            return
        ticket = self._loading
        try:
            page = await self._services.backend.messages(self._more)
            await self._services.backend.learn(page.messages)
        except ClientError as error:
            if ticket == self._loading:
                self.error = error
                self._changed()
            return
        if ticket != self._loading:
            return
        added = page.messages[: ROWS_MAX - len(self.loaded)]
        self.loaded.extend(added)
        self._more = None if page.next is None else replace(self.query, start=page.next)
        self._table.append(self._matching(added))
        self._changed()

    @property
    def has_more(self) -> bool:
        return self._more is not None and len(self.loaded) < ROWS_MAX

    @property
    def shown(self) -> int:
        return len(self._table.rows)

    def set_search(self, text: str) -> None:
        self.search = text
        self._show()

    # -- live

    @property
    def live(self) -> bool:
        return self._leave is not None

    @property
    def held(self) -> int:
        """Messages that came while paused."""
        return self._held

    def go_live(self, on_open: Callable[[], None]) -> None:
        """`on_open` is called once the end is fixed; the page then loads the newest messages."""
        if self._leave is not None:
            return
        self.paused, self.skipped, self._held = False, 0, 0
        self._pending.clear()
        self._busy = True  # hold back what comes until the newest page is there
        self._leave = self._services.tails.watch(
            self.query.topic, Watcher(on_open, self._receive, self._ended)
        )
        self._changed()

    def stop_live(self) -> None:
        if self._leave is not None:
            self._leave()
            self._leave = None
            self.paused = False
            self._busy = False
            self._release()
            self._changed()

    def pause(self) -> None:
        if self.live and not self.paused:
            self.paused = True
            self._changed()

    def resume(self) -> None:
        self.paused = False
        self._held = 0
        self._release()
        self._changed()

    def show_found(self, messages: Sequence[Message]) -> None:
        """Show these, which were found elsewhere; an empty list begins anew."""
        self.stop_live()
        self._loading += 1
        self._busy, self._more, self.error = False, None, None
        self.loaded = list(messages)[:ROWS_MAX]
        self._show()

    # -- how

    def _receive(self, batch: TailBatch) -> None:
        self.skipped += batch.skipped
        wanted = [m for m in batch.messages if self.query.partition in (None, m.partition)]
        self._pending.extend(wanted)
        if self.paused:
            self._held += len(wanted)
        self._release()
        self._changed()

    def _release(self) -> None:
        """Show what is pending, unless paused or still reading the page that it goes on top of."""
        if self.paused or self._busy or not self._pending:
            return
        known = {(m.partition, m.offset) for m in self.loaded}
        new = [m for m in self._pending if (m.partition, m.offset) not in known]
        self._pending.clear()
        self.loaded = (new[::-1] + self.loaded)[:LIVE_ROWS_MAX]
        self._table.prepend(self._matching(new))

    def _ended(self, error: ClientError) -> None:
        self.error = error
        self.stop_live()

    def _failed(self, error: ClientError) -> None:
        self.error = error
        self._busy = False
        self.loaded = []
        self._more = None
        self._table.show([], FAILED)
        self._changed()

    def _show(self) -> None:
        self._table.show(self._matching(self.loaded), self._why_empty())
        self._changed()

    def _why_empty(self) -> dict[str, str]:
        if self.loaded:
            return NO_MATCH
        if self.live:
            return WAITING
        return (
            NO_MESSAGES
            if isinstance(self.query.start, Newest) and self.query.partition is None
            else NOTHING_HERE
        )

    def _matching(self, messages: Sequence[Message]) -> list[Message]:
        wanted = self.search.strip().casefold()
        return [message for message in messages if not wanted or wanted in self._text_of(message)]

    def _text_of(self, message: Message) -> str:
        """Everything of a message that a search looks through, in lower case."""
        headers = (f"{name} {searchable(value, SEARCH_BYTES)}".casefold() for name, value in message.headers)
        known = (self._services.backend.decoded_known(message, of_key) for of_key in (True, False))
        decoded = (each.text[:SEARCH_BYTES].casefold() for each in known if each and not each.failed)
        body = (searchable(message.key, SEARCH_BYTES), searchable(message.value, SEARCH_BYTES))
        return "\n".join((*body, *decoded, *headers))
