"""Exporters: schemas that are copied to another registry as they come."""

from __future__ import annotations

from typing import Any

from penstock.clock import Clock
from penstock.registry import exporting
from penstock.registry.exporting import find_exporter, shown_config
from penstock.registry.records import ExporterStateValue
from penstock.registry.requests import ExporterAnswer, ExporterRequest, ExporterStatus, NameAnswer
from penstock.registry.routes import access, problems
from penstock.registry.service import Registry
from penstock.web import Call, Route


def routes(registry: Registry, clock: Clock) -> tuple[Route, ...]:
    api = _Exporters(registry, clock)
    one, sees, changes = "/exporters/{name}", access.SEE_GLOBAL_RULES, access.CHANGE_GLOBAL_RULES
    missing, invalid = problems.NO_EXPORTER, problems.INVALID_EXPORTER
    steps = (
        ("pause", "Stops copying."),
        ("resume", "Copies on."),
        ("reset", "Forgets what was copied. The exporter must be paused."),
    )
    return (
        Route("GET", "/exporters", api.list, "The names of the exporters.", access=sees, returns=list[str]),
        Route("POST", "/exporters", api.create, "Creates an exporter, which starts at once.",
              access=changes, body=ExporterRequest, returns=NameAnswer, problems=(invalid,)),
        Route("GET", one, api.get, "An exporter.", access=sees, returns=ExporterAnswer, problems=(missing,)),
        Route("PUT", one, api.update, "Changes an exporter that is paused.",
              access=changes, body=ExporterRequest, returns=NameAnswer, problems=(missing, invalid)),
        Route("DELETE", one, api.delete, "Deletes an exporter. What it has copied stays.",
              access=changes, status=204, problems=(missing,)),
        Route("GET", f"{one}/config", api.config, "Its settings, without secrets.",
              access=sees, returns=dict[str, str], problems=(missing,)),
        Route("PUT", f"{one}/config", api.set_config, "Replaces the settings of an exporter that is paused.",
              access=changes, body=dict[str, Any], returns=NameAnswer, problems=(missing, invalid)),
        Route("GET", f"{one}/status", api.status, "Whether it runs, and how far it is.",
              access=sees, returns=ExporterStatus, problems=(missing,)),
        *(
            Route("PUT", f"{one}/{step}", api.step(step), told, access=changes, returns=NameAnswer,
                  problems=(missing, invalid))
            for step, told in steps
        ),
    )  # fmt: skip


class _Exporters:
    def __init__(self, registry: Registry, clock: Clock) -> None:
        self._registry = registry
        self._clock = clock

    async def list(self, _call: Call) -> Any:
        return self._registry.ask(lambda s: sorted(s.exporters))

    async def create(self, call: Call) -> Any:
        now_ms = self._clock.now_ms()
        return await self._registry.change(lambda s: exporting.decide_create(s, call.body, now_ms))

    async def get(self, call: Call) -> ExporterAnswer:
        found = self._registry.ask(lambda s: find_exporter(s, call.path["name"]))
        return ExporterAnswer(
            found.name,
            found.context_type,
            found.context,
            list(found.subjects),
            found.subject_rename_format,
            shown_config(found.config),
        )

    async def update(self, call: Call) -> Any:
        name = call.path["name"]
        return await self._registry.change(lambda s: exporting.decide_update(s, name, call.body))

    async def delete(self, call: Call) -> None:
        await self._registry.change(lambda s: exporting.decide_delete(s, call.path["name"]))

    async def config(self, call: Call) -> Any:
        return shown_config(self._registry.ask(lambda s: find_exporter(s, call.path["name"])).config)

    async def set_config(self, call: Call) -> Any:
        """The settings themselves, or an object with them under `config`."""
        body: dict[str, Any] = call.body
        given = body["config"] if isinstance(body.get("config"), dict) else body
        request = ExporterRequest(config={name: str(value) for name, value in given.items()})
        name = call.path["name"]
        return await self._registry.change(lambda s: exporting.decide_update(s, name, request))

    async def status(self, call: Call) -> ExporterStatus:
        name = call.path["name"]
        self._registry.ask(lambda s: find_exporter(s, name))
        missing = ExporterStateValue(exporting.PAUSED)
        step = self._registry.ask(lambda s: s.exporter_states.get(name, missing))
        return ExporterStatus(name, step.state, step.offset, step.ts, step.trace)

    def step(self, step: str) -> Any:
        async def take(call: Call) -> Any:
            name, now_ms = call.path["name"], self._clock.now_ms()
            return await self._registry.change(lambda s: exporting.decide_step(s, name, step, now_ms))

        return take
