"""Delete a connector, after its name has been typed."""

from __future__ import annotations

from penstock.console.components.controls import notify, text, text_field
from penstock.console.dialogs.frame import DialogFrame
from penstock.console.services import Services


class DeleteConnectorDialog(DialogFrame):
    def __init__(self, services: Services) -> None:
        super().__init__("delete-connector", "Delete a connector", "Delete connector", kind="danger")
        self._services = services
        self._name = ""
        with self.body:
            text(
                "p",
                "It stops, and its configuration is forgotten. Its offsets are kept: a connector of the same "
                "name goes on where this one stopped. What it has written stays.",
                "dialog-text",
            )
            self._typed = text_field("Type the connector's name to confirm", on_change=self._check).control
            self._typed.mark("typed-connector").props("autofocus")

    def ask(self, name: str) -> None:
        self._name = name
        self.title.set_text(f"Delete connector {name}?")
        self._typed.value = ""
        self._check()
        self.open()

    async def act(self) -> None:
        if self._typed.value != self._name:
            return
        await self._services.connectors.turn(self._name, "delete")
        self._services.connector_states.refresh()
        notify(f"Deleted connector {self._name}")

    def _check(self) -> None:
        self.confirm.set_enabled(self._typed.value == self._name)
