"""The settings of a topic or a broker: value, default and meaning of each, with those first that differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nicegui import background_tasks, ui

from penstock.client.configs import Owner
from penstock.client.errors import ClientError
from penstock.client.metadata import ConfigEntry
from penstock.console.components.controls import search_box, switch
from penstock.console.components.grid import Action, Column, Grid, Row
from penstock.console.components.layout import Notice
from penstock.console.components.live import Live
from penstock.console.dialogs.change_setting import ChangeSettingDialog
from penstock.console.services import Services
from penstock.settings.definition import Definition

COLUMNS = (
    Column("name", "Setting", "text", "260px"),
    Column("value", "Value", "mono", "200px"),
    Column("source", "From", "tag", "120px", "wide-only"),
    Column("default", "Default", "mono", "160px", "wide-only"),
    Column("doc", "Meaning", "text", "", "wrap wide-only"),
)
CHANGE = Action("change", "Change", "edit")
WAITING = {"title": "Reading the settings", "text": "They appear as soon as the broker answers."}
NO_MATCH = {"title": "No setting matches", "text": "Change the search, or show all settings."}
SOURCES = {
    "DYNAMIC_TOPIC_CONFIG": "topic",
    "DYNAMIC_BROKER_CONFIG": "broker",
    "DYNAMIC_DEFAULT_BROKER_CONFIG": "all brokers",
    "STATIC_BROKER_CONFIG": "file",
}


class SettingsTable:
    def __init__(self, services: Services, owner: Owner, known: Mapping[str, Definition]) -> None:
        self._services, self._owner, self._known = services, owner, known
        self._entries: dict[str, ConfigEntry] = {}
        self._search, self._changed_only = "", False
        with Live("div").classes("stack") as self._frame:
            with ui.element("div").classes("toolbar"):
                search_box("Search settings", self._searched).mark("search-settings")
                with ui.element("div").classes("toolbar-end"):
                    switch("Only what differs", False, self._narrowed).mark("only-changed")
            self._notice = Notice("settings-notice")
            self.table = Grid("Settings", COLUMNS, WAITING, actions=(CHANGE,))
            self.table.on("act", lambda event: self._ask(event.args["id"]))
            self.dialog = ChangeSettingDialog(services, owner, self.read)
        self.read()

    def read(self) -> None:
        background_tasks.create(self._read(), name=f"settings of {self._owner}", context=self._frame)

    async def _read(self) -> None:
        try:
            entries = await self._services.backend.configs(self._owner)
        except ClientError as error:
            self._notice.show(str(error))
            return
        self._notice.show("")
        self._entries = {entry.name: entry for entry in entries}
        self._show()

    def _ask(self, name: str) -> None:
        self.dialog.ask(self._entries[name], self._known.get(name))

    def _searched(self, event: Any) -> None:
        self._search = (event.value or "").strip().casefold()
        self._show()

    def _narrowed(self, event: Any) -> None:
        self._changed_only = bool(event.value)
        self._show()

    def _show(self) -> None:
        rows = [self._row(entry) for entry in self._chosen()]
        self.table.show(rows, NO_MATCH)

    def _chosen(self) -> Iterable[ConfigEntry]:
        found = [
            entry
            for entry in self._entries.values()
            if self._search in f"{entry.name} {self._doc(entry)}".casefold()
            and not (self._changed_only and entry.is_default)
        ]
        return sorted(found, key=lambda entry: (entry.is_default, entry.name))

    def _row(self, entry: ConfigEntry) -> Row:
        definition = self._known.get(entry.name)
        return {
            "id": entry.name,
            "name": entry.name,
            "value": "hidden" if entry.is_sensitive else entry.value,
            "source": SOURCES.get(entry.source, "") if not entry.is_default else "",
            "default": None if definition is None else definition.default_text,
            "doc": self._doc(entry),
            "acts": [] if entry.is_read_only else ["change"],
        }

    def _doc(self, entry: ConfigEntry) -> str:
        definition = self._known.get(entry.name)
        return "" if definition is None else definition.doc
