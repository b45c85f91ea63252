"""A form made of a plugin's config definition. Connect itself validates it as one types, field by field."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import background_tasks, ui

from penstock.client.errors import ClientError
from penstock.console.components.controls import Field, notify, select_field, switch, text, text_field
from penstock.console.connector_catalogue import Plugin, Setting
from penstock.console.dialogs.frame import DialogFrame
from penstock.console.services import Services

PAUSE_S = 0.4
"""Typing must pause for so long before Connect is asked."""


class ConnectorForm(DialogFrame):
    def __init__(self, services: Services) -> None:
        super().__init__("connector", "Create a connector", "Create")
        self._services = services
        self._plugin: Plugin | None = None
        self._plugins: dict[str, Plugin] = {}
        self._fields: dict[str, Field] = {}
        self._settings: dict[str, Setting] = {}
        self._existing: dict[str, str] | None = None
        self._asked = 0
        self._all = False
        with self.body, ui.element("div").classes("dialog-scroll"):
            self._choice = select_field("Plugin", {}, None, self._plugin_chosen)
            self._choice.control.mark("connector-plugin")
            self._name = text_field("Name", on_change=self._typed).control.mark("connector-name")
            self._form = ui.element("div").classes("form-grid")
            switch("Show all settings", False, self._more).mark("all-settings")
            self._mistakes = text("p", "", "dialog-text").props("role=status").mark("connector-mistakes")

    def ask(
        self,
        plugin: Plugin | None,
        plugins: Sequence[Plugin] = (),
        existing: Mapping[str, str] | None = None,
    ) -> None:
        """Of one plugin, or of one that is still to be chosen; with `existing`, changes a connector."""
        if plugin is None:
            return
        self._existing = None if existing is None else dict(existing)
        self._plugins = {each.name: each for each in (plugins or [plugin])}
        changing = existing is not None
        self.title.set_text(f"Configure {existing['name']}" if existing else "Create a connector")
        self.confirm.label_element.set_text("Change" if changing else "Create")
        self._name.value = existing["name"] if existing else ""
        self._name.set_enabled(not changing)
        self._choice.frame.set_visibility(len(self._plugins) > 1)
        names = {name: f"{each.short} ({each.kind})" for name, each in self._plugins.items()}
        self._plugin = None
        self._choice.control.set_options(names, value=plugin.name)
        self._use(plugin)
        self.open()

    async def act(self) -> None:
        config = self._config()
        if self._existing is None:
            await self._services.connectors.create(config)
        else:
            await self._services.connectors.configure(config["name"], config)
        self._services.connector_states.refresh()
        notify(f"{'Created' if self._existing is None else 'Changed'} {config['name']}")

    def _plugin_chosen(self, event: Any) -> None:
        if event.value in self._plugins:
            self._use(self._plugins[event.value])

    def _use(self, plugin: Plugin) -> None:
        if plugin != self._plugin:
            self._plugin = plugin
            background_tasks.create(self._build(plugin), name="connector form", context=self._form)

    async def _build(self, plugin: Plugin) -> None:
        try:
            settings = await self._services.connectors.settings(plugin.name)
        except ClientError as error:
            self.complain(error)
            return
        self._settings = {each.name: each for each in settings}
        values = self._existing or {}
        self._form.clear()
        with self._form:
            self._fields = {each.name: self._field(each, values.get(each.name)) for each in settings}
        self._show_fields()
        self._typed()

    def _field(self, setting: Setting, value: str | None) -> Field:
        given = value if value is not None else ""
        if setting.choices:
            options = {"": f"Default ({setting.default or 'none'})"} | {
                each: each for each in setting.choices
            }
            made = select_field(setting.title, options, given if given in options else "", self._typed)
        else:
            made = text_field(
                setting.title + (" *" if setting.required else ""),
                value=given,
                placeholder=setting.default,
                hint=setting.doc[:160],
                on_change=self._typed,
                password=setting.kind == "PASSWORD",
            )
        made.control.mark(f"setting-{setting.name}")
        return made

    def _more(self, event: Any) -> None:
        self._all = bool(event.value)
        self._show_fields()

    def _show_fields(self) -> None:
        """Required and important ones, and those that were set; all when asked for."""
        for name, made in self._fields.items():
            setting = self._settings[name]
            wanted = setting.required or setting.importance == "HIGH" or bool(made.control.value)
            made.frame.set_visibility(self._all or wanted)

    def _config(self) -> dict[str, str]:
        assert self._plugin is not None
        own = {name: str(made.control.value) for name, made in self._fields.items() if made.control.value}
        kept = {name: value for name, value in (self._existing or {}).items() if name not in self._fields}
        return {
            **kept,
            **own,
            "connector.class": self._plugin.name,
            "name": (self._name.value or "").strip(),
        }

    def _typed(self) -> None:
        self._asked += 1
        background_tasks.create(self._validate(self._asked), name="validate", context=self._form)

    async def _validate(self, ticket: int) -> None:
        await asyncio.sleep(PAUSE_S)
        if ticket != self._asked or self._plugin is None:
            return
        try:
            mistakes = await self._services.connectors.validate(self._plugin.name, self._config())
        except ClientError as error:
            self.complain(error)
            return
        if ticket == self._asked:
            self.complain(None)
            self._show_mistakes(mistakes)

    def _show_mistakes(self, mistakes: Mapping[str, list[str]]) -> None:
        for name, made in self._fields.items():
            if not self._settings[name].choices:
                made.control.error = "; ".join(mistakes[name]) if name in mistakes else None
            if name in mistakes:
                made.frame.set_visibility(True)
        others = [
            f"{name}: {'; '.join(errors)}" for name, errors in mistakes.items() if name not in self._fields
        ]
        count = len(mistakes)
        self._mistakes.set_text(
            "Connect accepts this configuration." if not count else
            f"{count} to mend. {' '.join(others)}"
        )  # fmt: skip
        self.confirm.set_enabled(not count)
