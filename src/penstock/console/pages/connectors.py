"""The connectors page: what runs and how it is, and the catalogue of what can be made."""

from __future__ import annotations

from urllib.parse import quote

from nicegui import background_tasks, ui

from penstock.client.errors import ClientError
from penstock.console.components.controls import button, notify
from penstock.console.components.grid import Action, Column, Grid, Row
from penstock.console.components.layout import Away, Notice, page_head, panel
from penstock.console.components.live import Live
from penstock.console.connector_catalogue import Connector, Plugin
from penstock.console.dialogs.connector_form import ConnectorForm
from penstock.console.dialogs.delete_connector import DeleteConnectorDialog
from penstock.console.feed import Reading
from penstock.console.services import Services
from penstock.console.wording import counted

COLUMNS = (
    Column("name", "Connector"),
    Column("state", "State", "tag", "120px"),
    Column("kind", "Kind", "text", "90px", "wide-only"),
    Column("plugin", "Plugin", "text", "240px", "wide-only"),
    Column("tasks", "Tasks", "text", "90px"),
    Column("error", "Error", "text", "", "wide-only"),
)
ACTIONS = (
    Action("pause", "Pause", "pause"),
    Action("resume", "Resume", "play"),
    Action("restart", "Restart", "refresh"),
    Action("delete", "Delete", "trash", danger=True),
)
PLUGINS = (
    Column("short", "Plugin"),
    Column("kind", "Kind", "tag", "100px"),
    Column("guarantee", "Delivery", "text", "180px", "wide-only"),
    Column("name", "Class", "mono", "", "wide-only"),
    Column("version", "Version", "text", "110px", "wide-only"),
)
NONE = {"title": "No connectors yet", "text": "Choose a plugin below, fill in its form, and create one."}
NO_PLUGINS = {"title": "No plugins", "text": "The worker has none installed."}
TONES = {"RUNNING": "good", "FAILED": "bad", "PAUSED": "warn", "STOPPED": "warn"}


def connectors_page(services: Services) -> None:
    ui.page_title(f"Connectors · {services.title}")
    ConnectorsPage(services)


class ConnectorsPage:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._plugins: dict[str, Plugin] = {}
        about = services.connectors.service.about
        with Live("section").classes("page") as self._page:
            with page_head("Connectors") as self._note:
                button("Create connector", self._create, kind="primary", symbol="plus").mark(
                    "create-connector"
                )
            self._away = Away(about.name, about.command, about.describes)
            self._notice = Notice("connectors-notice")
            with ui.element("div").classes("stack") as self._body:
                self._table = Grid("Connectors", COLUMNS, NONE, actions=ACTIONS)
                with panel("Catalogue", "Open a plugin to create a connector of it."):
                    self._catalogue = Grid("Plugins", PLUGINS, NO_PLUGINS, opens=True)
            self._form = ConnectorForm(services)
            self._delete = DeleteConnectorDialog(services)
        self._table.on("act", lambda event: self._act(event.args["action"], event.args["id"]))
        self._catalogue.on("open", lambda event: self._form.ask(self._plugins[event.args]))
        self._page.until_gone(services.connector_states.watch(self._receive))

    def _create(self) -> None:
        self._form.ask(next(iter(self._plugins.values()), None), list(self._plugins.values()))

    def _receive(self, reading: Reading[list[Connector]]) -> None:
        self._away.show(None if reading.error is None else str(reading.error))
        self._body.set_visibility(reading.error is None)
        if reading.value is None or reading.error is not None:
            return
        self._table.show([_row(each) for each in reading.value])
        failed = sum(each.failed for each in reading.value)
        running = counted(len(reading.value), "connector")
        self._note.set_text(running + (f" · {failed} failed" if failed else ""))
        if not self._plugins:
            background_tasks.create(self._read_plugins(), name="plugins", context=self._page)

    async def _read_plugins(self) -> None:
        try:
            found = await self._services.connectors.plugins()
        except ClientError:
            return  # the next look tries again
        self._plugins = {each.name: each for each in found}
        self._catalogue.show([_plugin_row(each) for each in found])

    def _act(self, verb: str, name: str) -> None:
        if verb == "delete":
            self._delete.ask(name)
        else:
            background_tasks.create(self._turn(verb, name), name=f"{verb} {name}", context=self._page)

    async def _turn(self, verb: str, name: str) -> None:
        try:
            await self._services.connectors.turn(name, verb)
        except ClientError as error:
            self._notice.show(str(error))
            return
        self._notice.show("")
        self._services.connector_states.refresh()
        with self._page:
            notify(f"{verb.capitalize()}: {name}")


def _row(each: Connector) -> Row:
    running = sum(task.state == "RUNNING" for task in each.tasks)
    state = "FAILED" if each.failed else each.state
    return {
        "id": each.name,
        "href": f"/connectors/{quote(each.name, safe='')}",
        "name": each.name,
        "state": {"text": state.lower(), "tone": TONES.get(state, "plain")},
        "kind": each.kind,
        "plugin": each.plugin,
        "tasks": f"{running} of {len(each.tasks)}",
        "error": each.error,
        "acts": ["pause" if each.state == "RUNNING" else "resume", "restart", "delete"],
    }


def _plugin_row(each: Plugin) -> Row:
    return {
        "id": each.name,
        "short": each.short,
        "kind": each.kind,
        "guarantee": each.guarantee.replace("_", " ").lower(),
        "name": each.name,
        "version": each.version,
    }
