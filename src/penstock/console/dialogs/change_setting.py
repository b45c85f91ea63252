"""Change one setting of a topic or a broker: its meaning and default stand above the field."""

from __future__ import annotations

from collections.abc import Callable

from penstock.client.configs import Owner
from penstock.client.metadata import ConfigEntry
from penstock.console.components.controls import button, notify, text, text_field
from penstock.console.dialogs.frame import DialogFrame
from penstock.console.services import Services
from penstock.settings.definition import Definition


class ChangeSettingDialog(DialogFrame):
    def __init__(self, services: Services, owner: Owner, done: Callable[[], None]) -> None:
        super().__init__("setting", "Change a setting", "Change")
        self._services, self._owner, self._done = services, owner, done
        self._name = ""
        with self.body:
            self._doc = text("p", "", "dialog-text").mark("setting-doc")
            self._default = text("p", "", "dialog-text faint").mark("setting-default")
            self._value = text_field("Value").control.mark("setting-value").props("autofocus")
            self._value.on("keydown.enter", self._confirmed)
            self._back = button("Take back to the default", self._take_back, kind="quiet").mark(
                "setting-back"
            )

    def ask(self, entry: ConfigEntry, definition: Definition | None) -> None:
        self._name = entry.name
        self.title.set_text(f"Change {entry.name} of {self._owner}")
        self._doc.set_text(definition.doc if definition else "The broker says nothing about this setting.")
        default = definition.default_text if definition else None
        self._default.set_text(f"Kafka's default is {default or 'nothing'}." if definition else "")
        self._value.value = "" if entry.is_sensitive else entry.value or ""
        self._back.set_visibility(not entry.is_default)
        self.open()

    async def act(self) -> None:
        await self._change(self._value.value or "")
        notify(f"{self._name} is changed")

    async def _take_back(self) -> None:
        await self.attempt(self._change(None))

    async def _change(self, value: str | None) -> None:
        await self._services.backend.alter_configs(self._owner, {self._name: value})
        self._done()
