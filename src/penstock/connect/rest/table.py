"""All routes of a worker: the service itself, plugins, loggers, and connectors."""

from __future__ import annotations

import asyncio
from typing import Any

from penstock import __version__
from penstock.connect.api.config_def import ConfigDef
from penstock.connect.config.plugin_settings import settings_of
from penstock.connect.config.validation import definition
from penstock.connect.converters.table import CONVERTERS, HEADER_CONVERTERS
from penstock.connect.plugins import UnknownConnector
from penstock.connect.rest import access, bodies, connectors
from penstock.connect.rest.loggers import Loggers
from penstock.connect.transforms.table import PREDICATE_NAMES, TRANSFORM_NAMES
from penstock.connect.worker import refusals
from penstock.connect.worker.herder import Herder, no_connector_type
from penstock.web import Answer, Call, Query, Route

KAFKA_VERSION = "4.2.0"
"""Of the Kafka Connect whose API this is; clients decide by it what they may ask."""
JsonObject = dict[str, Any]


def routes(herder: Herder, cluster_id: str) -> tuple[Route, ...]:
    api = _Worker(herder, cluster_id)
    only = Query("connectorsOnly", bool, True, "Without converters and transforms.")
    scope = Query("scope", str, "worker", "worker or cluster.")
    return (
        Route("GET", "/", api.about, "The worker and its cluster.", access=access.ANYBODY,
              returns=JsonObject),
        Route("GET", "/health", api.health, "Whether the worker can serve.", access=access.ANYBODY,
              returns=JsonObject),
        Route("GET", "/connector-plugins", api.plugins, "What can be configured.", access=access.READ,
              query=(only,), returns=list[JsonObject]),
        Route("GET", "/connector-plugins/{plugin}/config", api.plugin_config, "The settings of a plugin.",
              access=access.READ, returns=list[JsonObject], problems=(connectors.NOT_FOUND,)),
        Route("PUT", "/connector-plugins/{plugin}/config/validate", api.validate,
              "Every mistake in a configuration.", access=access.READ, body=JsonObject, body_streamed=True,
              returns=JsonObject, problems=(connectors.INVALID,)),
        Route("GET", "/admin/loggers", api.loggers, "Loggers and their levels.", access=access.READ,
              returns=JsonObject),
        Route("GET", "/admin/loggers/{logger}", api.logger, "One logger.", access=access.READ,
              returns=JsonObject, problems=(connectors.NOT_FOUND,)),
        Route("PUT", "/admin/loggers/{logger}", api.set_logger, "Sets a level.", access=access.WRITE,
              body=JsonObject, body_streamed=True, query=(scope,), returns=list[str],
              problems=(connectors.NOT_FOUND,)),
        *connectors.routes(herder),
    )  # fmt: skip


class _Worker:
    def __init__(self, herder: Herder, cluster_id: str) -> None:
        self._herder = herder
        self._cluster_id = cluster_id
        self._loggers = Loggers()

    async def about(self, _call: Call) -> Any:
        return {
            "version": KAFKA_VERSION,
            "commit": f"penstock-{__version__}",
            "kafka_cluster_id": self._cluster_id,
        }

    async def health(self, _call: Call) -> Any:
        message = "Worker has completed startup and is ready to handle requests."
        return {"status": "healthy", "message": message}

    async def plugins(self, call: Call) -> Any:
        found = [
            {
                "class": each.name,
                "type": each.kind,
                "version": each.version,
                "guarantee": each.connector.GUARANTEE,
            }
            for each in self._herder.plugins
        ]
        if call.query["connectorsOnly"]:
            return found
        others = (
            ("transformation", TRANSFORM_NAMES),
            ("predicate", PREDICATE_NAMES),
            ("converter", CONVERTERS),
            ("header_converter", HEADER_CONVERTERS),
        )
        return [
            *found,
            *(
                {"class": each, "type": kind, "version": __version__}
                for kind, names in others
                for each in names
            ),
        ]

    async def plugin_config(self, call: Call) -> Any:
        try:
            plugin = self._herder.plugins.find(call.path["plugin"])
        except UnknownConnector:
            other = settings_of(call.path["plugin"])
            if other is not None:
                return [key.definition() for key in other]
            raise refusals.not_found(f"Unknown plugin {call.path['plugin']}.") from None
        own = plugin.connector.CONFIG
        described = definition(plugin)
        shared = ConfigDef(tuple(key for key in described if key.name not in own.names))
        return [key.definition() for key in (*own, *shared)]

    async def validate(self, call: Call) -> Any:
        name = call.path["plugin"]
        given = bodies.texts(bodies.needed(await bodies.read_object(call)))
        wanted = given.get("connector.class")
        if wanted is None:
            raise refusals.wrapped_bad_request(no_connector_type(given))
        plugins = self._herder.plugins
        try:
            plugin = plugins.find(wanted)
        except UnknownConnector as error:
            raise refusals.bad_request(str(error)) from None
        if name not in (plugin.name, wanted) and (name not in _short_names(plugin.name)):
            raise refusals.bad_request(f"Included connector type {wanted} does not match request type {name}")
        found = await asyncio.to_thread(self._herder.validate, plugin, given)
        return found.shown()

    async def loggers(self, _call: Call) -> Any:
        return self._loggers.all()

    async def logger(self, call: Call) -> Any:
        return self._loggers.one(call.path["logger"])

    async def set_logger(self, call: Call) -> Any:
        body = bodies.texts(bodies.needed(await bodies.read_object(call)))
        changed = self._loggers.set_level(call.path["logger"], body.get("level"))
        return Answer(None, 204) if call.text("scope").lower() == "cluster" else changed


def _short_names(name: str) -> tuple[str, str]:
    short = name.rpartition(".")[2]
    return short, short.removesuffix("Connector")
