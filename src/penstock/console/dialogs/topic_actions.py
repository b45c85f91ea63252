"""Grow a topic, or empty it: each says what it will do before it does it."""

from __future__ import annotations

from collections.abc import Callable

from penstock.console.components.controls import notify, text, text_field
from penstock.console.dialogs.frame import DialogFrame
from penstock.console.query import parse_number
from penstock.console.services import Services
from penstock.console.wording import counted


class AddPartitionsDialog(DialogFrame):
    def __init__(self, services: Services, topic: str, done: Callable[[], None]) -> None:
        super().__init__("grow", f"Add partitions to {topic}", "Add partitions")
        self._services, self._topic, self._done = services, topic, done
        with self.body:
            text(
                "p",
                "Records that are there stay where they are. A key may go to another partition from now on, "
                "so the order of its records across the change is lost. Partitions are never taken away.",
                "dialog-text",
            )
            self._total = text_field("Partitions in all").control.mark("grow-total").props("autofocus")

    def ask(self) -> None:
        overview = self._services.overview.reading.value
        stats = overview.topic(self._topic) if overview else None
        self._total.value = "" if stats is None else str(stats.partitions + 1)
        self.open()

    async def act(self) -> None:
        total = parse_number("number of partitions", self._total.value or "", least=1, most=100_000)
        await self._services.backend.add_partitions(self._topic, total)
        self._services.overview.refresh()
        notify(f"{self._topic} has {counted(total, 'partition')}")
        self._done()


class EmptyTopicDialog(DialogFrame):
    def __init__(self, services: Services, topic: str, done: Callable[[], None]) -> None:
        super().__init__("empty", f"Empty topic {topic}?", "Delete all records", kind="danger")
        self._services, self._topic, self._done = services, topic, done
        with self.body:
            text(
                "p",
                "All records up to the end are deleted and cannot be brought back. The topic, its settings "
                "and the offsets of its readers stay; a compacted topic refuses.",
                "dialog-text",
            )
            self._typed = text_field("Type the topic's name to confirm", on_change=self._check).control
            self._typed.mark("typed-topic").props("autofocus")

    def ask(self) -> None:
        self._typed.value = ""
        self._check()
        self.open()

    async def act(self) -> None:
        if self._typed.value != self._topic:
            return
        deleted = await self._services.backend.empty_topic(self._topic)
        self._services.overview.refresh()
        notify(f"Deleted {counted(deleted, 'record')} of {self._topic}")
        self._done()

    def _check(self) -> None:
        self.confirm.set_enabled(self._typed.value == self._topic)
