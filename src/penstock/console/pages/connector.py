"""The page of one connector: tasks with their errors, offsets, topics, configuration, dead letters."""

from __future__ import annotations

import json

from nicegui import background_tasks, ui

from penstock.client.errors import ClientError
from penstock.console.components.code_view import CodeView
from penstock.console.components.controls import button, notify
from penstock.console.components.dead_letters import DeadLetters
from penstock.console.components.grid import Column, Grid, Row
from penstock.console.components.layout import Away, Facts, Notice, page_head, panel
from penstock.console.components.live import Live
from penstock.console.connector_catalogue import Connector, Plugin
from penstock.console.dialogs.connector_form import ConnectorForm
from penstock.console.feed import Reading
from penstock.console.pages.connectors import TONES
from penstock.console.services import Services
from penstock.console.wording import number

TASKS = (
    Column("task", "Task"),
    Column("state", "State", "tag", "120px"),
    Column("worker", "Worker", "mono", "200px"),
    Column("error", "Error", "text", "", "wrap"),
)
OFFSETS = (Column("partition", "Where", "mono", "", "wrap"), Column("offset", "Offset", "mono", "", "wrap"))
SETTINGS = (Column("name", "Setting", "text", "320px"), Column("value", "Value", "mono", "", "wrap"))
NO_TASKS = {"title": "No tasks", "text": "A paused or stopped connector has none, and one that just begins."}
NO_OFFSETS = {"title": "No offsets yet", "text": "They appear once it has read or written something."}


def connector_page(services: Services, name: str) -> None:
    ui.page_title(f"{name} · {services.title}")
    ConnectorPage(services, name)


class ConnectorPage:
    def __init__(self, services: Services, name: str) -> None:
        self._services, self._name = services, name
        self._connector: Connector | None = None
        self._trace = ""
        about = services.connectors.service.about
        with Live("section").classes("page") as self._page:
            with page_head(name, (("Connectors", "/connectors"),), "Connector"):
                for word, verb, symbol in (
                    ("Pause", "pause", "pause"),
                    ("Resume", "resume", "play"),
                    ("Restart", "restart", "refresh"),
                ):
                    button(word, lambda verb=verb: self._turn(verb), symbol=symbol).mark(f"connector-{verb}")
                button("Configure", self._configure, kind="primary", symbol="edit").mark("configure")
            self._away = Away(about.name, about.command, about.describes)
            self._notice = Notice("connector-notice")
            with ui.element("div").classes("stack") as self._body:
                self._build_body()
            self._form = ConnectorForm(services)
        self._page.until_gone(services.connector_states.watch(self._receive))

    def _build_body(self) -> None:
        self._facts = Facts(("State", "Kind", "Plugin", "Tasks", "Dead letters"))
        self._tasks = Grid("Tasks", TASKS, NO_TASKS)
        self._code = CodeView("What failed", "trace")
        self._code.set_visibility(False)
        self._letters = DeadLetters(self._services, self._name)
        with ui.element("div").classes("columns"):
            with panel("Offsets"):
                self._offsets = Grid("Offsets", OFFSETS, NO_OFFSETS)
            with panel("Configuration"):
                self._config = Grid("Configuration", SETTINGS, NO_OFFSETS, sort="name")

    def _receive(self, reading: Reading[list[Connector]]) -> None:
        self._away.show(None if reading.error is None else str(reading.error))
        self._body.set_visibility(reading.error is None)
        if reading.value is None or reading.error is not None:
            return
        found = next((each for each in reading.value if each.name == self._name), None)
        self._notice.show("" if found else f"There is no connector named {self._name!r}.")
        if found is None:
            return
        first, self._connector = self._connector is None, found
        self._facts.show(
            state="Failed" if found.failed else found.state.capitalize(),
            kind=found.kind,
            plugin=found.plugin,
            tasks=number(len(found.tasks)),
            dead_letters=found.dead_letters or "none",
        )
        self._tasks.show([_task_row(found, at) for at in range(len(found.tasks))])
        self._config.show([{"id": key, "name": key, "value": value} for key, value in found.config.items()])
        self._show_trace(found)
        if first:
            self._letters.watch(found.dead_letters)
        self._letters.keep_fresh()
        background_tasks.create(self._read_offsets(), name="offsets", context=self._page)

    def _show_trace(self, found: Connector) -> None:
        traces = [each for each in (found.trace, *(task.trace for task in found.tasks)) if each]
        trace = "\n\n".join(traces)
        if trace != self._trace or not self._code.content:
            self._trace = trace
            self._code.show(trace)
            self._code.set_visibility(bool(trace))

    async def _read_offsets(self) -> None:
        try:
            found = await self._services.connectors.offsets(self._name)
        except ClientError:
            return
        self._offsets.show(
            [
                {"id": json.dumps(each["partition"]), "partition": json.dumps(each["partition"]),
                 "offset": json.dumps(each["offset"])}
                for each in found
            ]
        )  # fmt: skip

    async def _turn(self, verb: str) -> None:
        try:
            await self._services.connectors.turn(self._name, verb)
        except ClientError as error:
            self._notice.show(str(error))
            return
        self._services.connector_states.refresh()
        notify(f"{verb.capitalize()}: {self._name}")

    def _configure(self) -> None:
        if self._connector is not None:
            plugin = Plugin(self._connector.config["connector.class"], self._connector.kind, "")
            self._form.ask(plugin, existing={**self._connector.config, "name": self._name})


def _task_row(found: Connector, at: int) -> Row:
    task = found.tasks[at]
    return {
        "id": str(task.number),
        "task": f"Task {task.number}",
        "state": {"text": task.state.lower(), "tone": TONES.get(task.state, "plain")},
        "worker": task.worker,
        "error": task.trace.strip().splitlines()[-1] if task.trace.strip() else "",
    }
