"""What the console asks of Connect: connectors with their states, the catalogue of plugins, validation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.client.errors import InvalidValue
from penstock.console.rest_service import RestService

CONNECTORS_MAX = 200
"""Connectors whose topics are asked for, one by one."""
VERBS = {"pause": "PUT", "resume": "PUT", "stop": "PUT"}
HIDDEN_NAMES = ("name", "connector.class")
"""Asked for by the form itself."""


@dataclass(frozen=True, slots=True)
class TaskState:
    number: int
    state: str
    worker: str
    trace: str = ""


@dataclass(frozen=True, slots=True)
class Connector:
    name: str
    kind: str
    """`source` or `sink`."""
    state: str
    worker: str
    config: dict[str, str]
    tasks: tuple[TaskState, ...] = ()
    trace: str = ""

    @property
    def failed(self) -> bool:
        return "FAILED" in (self.state, *(task.state for task in self.tasks))

    @property
    def plugin(self) -> str:
        return self.config.get("connector.class", "").rpartition(".")[2]

    @property
    def error(self) -> str:
        """The first line of what made it fail."""
        traces = [self.trace, *(task.trace for task in self.tasks)]
        return next((trace.strip().splitlines()[-1] for trace in traces if trace.strip()), "")

    @property
    def dead_letters(self) -> str:
        """The topic for records that a sink could not take; empty when there is none."""
        return self.config.get("errors.deadletterqueue.topic.name", "")


@dataclass(frozen=True, slots=True)
class Plugin:
    name: str
    kind: str
    version: str
    guarantee: str = ""

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of the form."""

    name: str
    title: str
    kind: str
    required: bool
    default: str
    importance: str
    doc: str
    group: str
    choices: tuple[str, ...] = field(default=())


class ConnectorCatalogue:
    def __init__(self, service: RestService) -> None:
        self.service = service
        self.used_topics: dict[str, list[str]] = {}
        """Topics that each connector has used, as of the last look."""

    async def connectors(self) -> list[Connector]:
        found = await self.service.ask("GET", "connectors", query={"expand": "status"})
        infos = await self.service.ask("GET", "connectors", query={"expand": "info"})
        self.used_topics = {name: await self.topics(name) for name in sorted(found)[:CONNECTORS_MAX]}
        return [
            _connector(name, found[name]["status"], infos.get(name, {}).get("info", {}))
            for name in sorted(found)
        ]

    async def plugins(self) -> list[Plugin]:
        found = await self.service.ask("GET", "connector-plugins")
        return [
            Plugin(each["class"], each["type"], each.get("version", ""), str(each.get("guarantee") or ""))
            for each in found
            if each["type"] in ("source", "sink")
        ]

    async def settings(self, plugin: str) -> list[Setting]:
        """What the plugin takes: required and important ones first."""
        found = await self.service.ask("GET", "connector-plugins", plugin, "config")
        settings = [_setting(each) for each in found if each["name"] not in HIDDEN_NAMES]
        ranks = {"HIGH": 0, "MEDIUM": 1, "LOW": 2}
        return sorted(settings, key=lambda each: (not each.required, ranks.get(each.importance, 3)))

    async def validate(self, plugin: str, config: dict[str, str]) -> dict[str, list[str]]:
        """The mistakes of each setting that has some."""
        path = ("connector-plugins", plugin, "config", "validate")
        found = await self.service.ask("PUT", *path, body=config)
        values = [each["value"] for each in found["configs"]]
        return {each["name"]: each["errors"] for each in values if each["errors"]}

    async def create(self, config: dict[str, str]) -> None:
        if not config.get("name"):
            raise InvalidValue("The connector has no name. Write one.")
        await self.service.ask("POST", "connectors", body={"name": config["name"], "config": config})

    async def configure(self, name: str, config: dict[str, str]) -> None:
        await self.service.ask("PUT", "connectors", name, "config", body=config)

    async def turn(self, name: str, verb: str) -> None:
        """pause, resume, stop, restart (with its tasks) or delete."""
        if verb in VERBS:
            await self.service.ask(VERBS[verb], "connectors", name, verb)
        elif verb == "restart":
            query = {"includeTasks": "true", "onlyFailed": "false"}
            await self.service.ask("POST", "connectors", name, "restart", query=query)
        elif verb == "delete":
            await self.service.ask("DELETE", "connectors", name)
        else:
            raise InvalidValue(f"{verb!r} is nothing that a connector does.")

    async def redrive(self, name: str) -> int:
        """Sends dead letters to the topics that they came from; returns how many."""
        found = await self.service.ask("POST", "connectors", name, "redrive")
        return int(found["redriven"])

    async def offsets(self, name: str) -> list[dict[str, Any]]:
        return list((await self.service.ask("GET", "connectors", name, "offsets"))["offsets"])

    async def topics(self, name: str) -> list[str]:
        return list((await self.service.ask("GET", "connectors", name, "topics"))[name]["topics"])


def _connector(name: str, status: dict[str, Any], info: dict[str, Any]) -> Connector:
    own = status["connector"]
    tasks = tuple(
        TaskState(int(task["id"]), task["state"], task.get("worker_id", ""), task.get("trace") or "")
        for task in status.get("tasks", ())
    )
    return Connector(
        name,
        status.get("type", ""),
        own["state"],
        own.get("worker_id", ""),
        dict(info.get("config", {})),
        tasks,
        own.get("trace") or "",
    )


def _setting(found: dict[str, Any]) -> Setting:
    return Setting(
        found["name"],
        found.get("display_name") or found["name"],
        found["type"],
        bool(found["required"]),
        found.get("default_value") or "",
        found.get("importance", ""),
        found.get("documentation") or "",
        found.get("group") or "",
        ("true", "false") if found["type"] == "BOOLEAN" else (),
    )
