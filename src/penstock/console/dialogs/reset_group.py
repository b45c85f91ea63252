"""Reset a group's offsets, with a preview: what each partition would go on from, what would be read again and
what skipped. Only what was previewed is written.
"""

from __future__ import annotations

from nicegui import ui

from penstock.client.errors import ClientError
from penstock.console.cluster_values import Move
from penstock.console.components.controls import button, notify, select_field, text, text_field
from penstock.console.components.grid import Column, Grid
from penstock.console.dialogs.frame import DialogFrame
from penstock.console.resetting import CHOICES, parse_target
from penstock.console.services import Services
from penstock.console.wording import counted

COLUMNS = (
    Column("topic", "Topic"),
    Column("partition", "Partition", "number", "92px"),
    Column("committed", "Now", "number", "100px"),
    Column("wanted", "Then", "number", "100px"),
    Column("again", "Read again", "number", "100px"),
    Column("skipped", "Skipped", "number", "90px"),
)
ASK = {"title": "No preview yet", "text": "Choose where the group shall go on, then ask for a preview."}
VALUES = {"timestamp": "2026-01-31 12:00:00", "offset": "0", "shift": "-100"}


class ResetGroupDialog(DialogFrame):
    def __init__(self, services: Services, group_id: str) -> None:
        super().__init__("reset", f"Reset the offsets of {group_id}", "Reset", kind="danger")
        self._services = services
        self._group_id = group_id
        self._moves: list[Move] = []
        with self.body:
            with ui.element("div").classes("dialog-row"):
                self._choice = select_field("Go on from", CHOICES, "earliest", self._changed).control
                self._choice.mark("reset-choice")
                self._value = text_field("Time (UTC), offset or number", on_change=self._forget)
                self._value.control.mark("reset-value")
            self._topics = text_field(
                "Topics", hint="With commas between; empty for all that the group has committed."
            ).control.mark("reset-topics")
            self._topics.on_value_change(self._forget)
            button("Preview", self._preview, symbol="search").mark("reset-preview")
            self._table = Grid("Preview", COLUMNS, ASK)
            self._sum = text("p", "", "dialog-text").mark("reset-sum")

    def ask(self) -> None:
        self._choice.value, self._value.control.value, self._topics.value = "earliest", "", ""
        self._changed()
        self.open()

    async def act(self) -> None:
        await self._services.backend.reset_group(self._group_id, self._moves)
        self._services.groups.refresh()
        notify(f"Reset {counted(len(self._moves), 'partition')} of {self._group_id}")

    async def _preview(self) -> None:
        self._forget()
        try:
            target = parse_target(self._choice.value, self._value.control.value or "")
            topics = tuple(name.strip() for name in (self._topics.value or "").split(",") if name.strip())
            self._show(await self._services.backend.reset_plan(self._group_id, topics, target))
        except ClientError as error:
            self.complain(error)

    def _show(self, moves: list[Move]) -> None:
        self.complain(None)
        self._moves = moves
        self._table.show([_row(move) for move in moves])
        again, skipped = sum(m.repeated for m in moves), sum(m.skipped for m in moves)
        self._sum.set_text(
            f"{counted(again, 'record')} will be read again, {counted(skipped, 'record')} never. "
            "The group must have no members."
        )
        self.confirm.set_enabled(bool(moves))

    def _changed(self) -> None:
        choice = self._choice.value
        self._value.frame.set_visibility(choice in VALUES)
        self._value.control.props["placeholder"] = VALUES.get(choice, "")
        self._forget()

    def _forget(self) -> None:
        """What was previewed no longer says what would happen."""
        self._moves = []
        self._table.show([], ASK)
        self._sum.set_text("")
        self.confirm.set_enabled(False)


def _row(move: Move) -> dict[str, object]:
    return {
        "id": f"{move.topic}-{move.partition}",
        "topic": move.topic,
        "partition": move.partition,
        "committed": move.committed,
        "wanted": move.wanted,
        "again": move.repeated,
        "skipped": move.skipped,
    }
