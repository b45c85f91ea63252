"""Delete a consumer group: its offsets are gone, and consumers begin anew by their own settings."""

from __future__ import annotations

from nicegui import ui

from penstock.console.components.controls import notify, text, text_field
from penstock.console.dialogs.frame import DialogFrame
from penstock.console.services import Services


class DeleteGroupDialog(DialogFrame):
    def __init__(self, services: Services, group_id: str) -> None:
        super().__init__("delete-group", f"Delete group {group_id}?", "Delete group", kind="danger")
        self._services = services
        self._group_id = group_id
        with self.body:
            text(
                "p",
                "The offsets that it has committed are forgotten. A consumer that starts with this group "
                "again begins where its auto.offset.reset says. A group with members cannot be deleted.",
                "dialog-text",
            )
            self._typed = text_field("Type the group's name to confirm", on_change=self._check).control
            self._typed.mark("typed-group").props("autofocus")

    def ask(self) -> None:
        self._typed.value = ""
        self._check()
        self.open()

    async def act(self) -> None:
        if self._typed.value != self._group_id:
            return
        await self._services.backend.delete_group(self._group_id)
        self._services.groups.refresh()
        notify(f"Deleted group {self._group_id}")
        ui.navigate.to("/groups")

    def _check(self) -> None:
        self.confirm.set_enabled(self._typed.value == self._group_id)
