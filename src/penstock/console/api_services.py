"""Routes of the JSON API for schemas, connectors, SQL, pipelines and alerts. `api` joins them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import msgspec

from penstock.console.alert_engine import Event, Silence
from penstock.console.alert_rules import Rule
from penstock.console.connector_catalogue import Connector
from penstock.console.graph_layout import laid_out
from penstock.console.mirrors import MirrorFlow
from penstock.console.observing import pipelines_now
from penstock.console.pipelines import pipeline_graph
from penstock.console.query import parse_number
from penstock.console.schema_catalogue import DiffLine, SchemaVersion, Subject, difference
from penstock.console.services import Services
from penstock.console.sql_client import SqlState
from penstock.security.access import ByBroker
from penstock.security.operations import Operation, ResourceType
from penstock.web import Call, Problem, Query, Route

FRESH_S: Final = 5.0


class Edit(msgspec.Struct):
    schema: str
    schema_type: str = "AVRO"


class CheckShape(msgspec.Struct):
    compatible: bool
    reasons: list[str]


class Redriven(msgspec.Struct):
    redriven: int


class AlertsShape(msgspec.Struct):
    rules: list[Rule]
    silences: list[Silence]
    events: list[Event]


class SilenceFor(msgspec.Struct):
    minutes: float
    reason: str = ""


def service_routes(services: Services, invalid: Problem) -> tuple[Route, ...]:
    api = ServicesApi(services)
    read, write = (ByBroker(each, ResourceType.CLUSTER) for each in (Operation.DESCRIBE, Operation.ALTER))
    subject, rule = "/api/schemas/{name}", "/api/alerts/rules/{name}"
    gone = Problem(404, "No such thing", 404)
    versions = (
        Query("older", str, "1", "A version."),
        Query("newer", str, "", "Another; the latest when it is left out."),
    )
    return (
        Route("GET", "/api/schemas", api.schemas, "Subjects with their latest version.", access=read,
              returns=list[SchemaVersion]),
        Route("GET", subject, api.subject, "A subject with all its versions.", access=read, returns=Subject,
              problems=(gone,)),
        Route("GET", f"{subject}/difference", api.difference, "Two versions, line by line.", access=read,
              returns=list[DiffLine], query=versions, problems=(gone, invalid)),
        Route("POST", f"{subject}/check", api.check, "Whether an edit fits, and why not.", access=read,
              body=Edit, returns=CheckShape, problems=(invalid,)),
        Route("GET", "/api/connectors", api.connectors, "Connectors with their states.", access=read,
              returns=list[Connector]),
        Route("POST", "/api/connectors/{name}/{verb}", api.turn, "pause, resume, stop, restart or delete.",
              access=write, status=204, problems=(invalid, gone)),
        Route("POST", "/api/connectors/{name}/dead-letters/redrive", api.redrive,
              "Sends dead letters again to the topics that they came from.", access=write, returns=Redriven,
              problems=(gone,)),
        Route("GET", "/api/sql", api.sql, "Running queries, streams and tables.", access=read,
              returns=SqlState),
        Route("GET", "/api/pipelines", api.pipelines, "Pipelines, and their graph laid out.", access=read,
              returns=dict[str, Any]),
        Route("GET", "/api/mirrors", api.mirrors,
              "Flows of mirrors: state, errors, lag and rate, of each partition, too.", access=read,
              returns=list[MirrorFlow]),
        Route("GET", "/api/alerts", api.alerts, "Rules, silences and history.", access=read,
              returns=AlertsShape),
        Route("PUT", rule, api.save_rule, "Creates or changes a rule.", access=write, body=Rule, status=204,
              problems=(invalid,)),
        Route("DELETE", rule, api.delete_rule, "Deletes a rule.", access=write, status=204,
              problems=(invalid,)),
        Route("PUT", f"{rule}/silence", api.silence, "Silences a rule; 0 minutes end it.", access=write,
              body=SilenceFor, status=204),
    )  # fmt: skip


class ServicesApi:
    """One method for each route."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def schemas(self, _call: Call) -> list[SchemaVersion]:
        return await self._services.subjects.current(FRESH_S)

    async def subject(self, call: Call) -> Subject:
        return await self._services.schemas.subject(call.path["name"])

    async def difference(self, call: Call) -> list[DiffLine]:
        found = await self._services.schemas.subject(call.path["name"])
        by_number = {each.version: each for each in found.versions}
        numbers = (call.text("older"), call.text("newer") or str(found.versions[-1].version))
        older, newer = (parse_number("version", each, most=2**31 - 1) for each in numbers)
        latest = found.versions[-1]
        return difference(by_number.get(older, latest).pretty, by_number.get(newer, latest).pretty)

    async def check(self, call: Call) -> CheckShape:
        edit: Edit = call.body
        verdict = await self._services.schemas.check(call.path["name"], edit.schema_type, edit.schema)
        return CheckShape(verdict.compatible, list(verdict.reasons))

    async def connectors(self, _call: Call) -> list[Connector]:
        return await self._services.connector_states.current(FRESH_S)

    async def turn(self, call: Call) -> None:
        await self._services.connectors.turn(call.path["name"], call.path["verb"])
        self._services.connector_states.refresh()

    async def redrive(self, call: Call) -> Redriven:
        return Redriven(await self._services.connectors.redrive(call.path["name"]))

    async def sql(self, _call: Call) -> SqlState:
        return await self._services.sql_state.current(FRESH_S)

    async def pipelines(self, _call: Call) -> dict[str, Any]:
        found = await pipelines_now(self._services, FRESH_S)
        overview = self._services.overview.reading.value
        return {
            "pipelines": [asdict(each) for each in found],
            "graph": laid_out(pipeline_graph(found, overview)),
        }

    async def mirrors(self, _call: Call) -> list[MirrorFlow]:
        return await self._services.mirrors.current(FRESH_S)

    async def alerts(self, _call: Call) -> AlertsShape:
        await self._services.alerts.start()
        alerts = self._services.alerts
        return AlertsShape(alerts.rules, alerts.silences, alerts.events)

    async def save_rule(self, call: Call) -> None:
        await self._services.alerts.save(msgspec.structs.replace(call.body, name=call.path["name"]))

    async def delete_rule(self, call: Call) -> None:
        await self._services.alerts.start()
        await self._services.alerts.delete(call.path["name"])

    async def silence(self, call: Call) -> None:
        await self._services.alerts.silence(call.path["name"], call.body.minutes, call.body.reason)
