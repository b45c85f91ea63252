"""Paths that say how the server is: /info, /healthcheck, /clusterStatus, /status and the like."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from penstock.sqlserver.errors import NOT_FOUND, KsqlError
from penstock.sqlserver.metastore import CommandStatus
from penstock.sqlserver.server import SqlServer
from penstock.sqlserver.settings import is_editable
from penstock.web import Answer, Call

VERSION: Final = "8.0.0"
"""The ksqlDB whose language and API this is; its clients look at it."""


class About:
    def __init__(self, server: SqlServer) -> None:
        self._server = server

    async def info(self, call: Call) -> Any:
        return {
            "KsqlServerInfo": {
                "version": VERSION,
                "kafkaClusterId": self._server.cluster_id,
                "ksqlServiceId": self._server.settings.service_id,
                "serverStatus": "RUNNING",
            }
        }

    async def cluster(self, call: Call) -> Any:
        service = self._server.settings.service_id
        scope = {"kafka-cluster": self._server.cluster_id, "ksql-cluster": service}
        return {"id": "", "scope": {"path": [], "clusters": scope}}

    async def health(self, call: Call) -> Any:
        parts = await asyncio.to_thread(self._server.is_healthy)
        healthy = all(parts.values())
        body = {"isHealthy": healthy, "details": {name: {"isHealthy": well} for name, well in parts.items()}}
        body["serverState"] = "READY" if healthy else "DEGRADED"
        return Answer(body, 200 if healthy else 503)

    async def cluster_status(self, call: Call) -> Any:
        servers, now = self._server.servers, self._server.now_ms()
        found = {}
        for address, seen in sorted({self._server.address: now, **servers.seen_ms}.items()):
            alive = address in servers.addresses or address == self._server.address
            found[address] = {
                "hostAlive": alive,
                "lastStatusUpdateMs": seen,
                "activeStandbyPerQuery": self._queries_of(address) if alive else {},
                "hostStoreLags": {"stateStoreLags": {}, "updateTimeMs": seen},
            }
        return {"clusterStatus": found}

    def _queries_of(self, address: str) -> dict[str, Any]:
        """What a server runs: a query whole, by the rule that all servers share."""
        state, found = self._server.metastore, {}
        for name, known in state.queries.items():
            if self._server.servers.owner(name) == address:
                sources = [state.catalogue.sources[each] for each in known.query.reads]
                found[name] = {
                    "activeStores": [store.name for store in known.query.plan.used_stores],
                    "activePartitions": [
                        {"topic": source.topic, "partition": number}
                        for source in sources
                        for number in range(source.partitions or 1)
                    ],
                    "standByStores": [],
                    "standByPartitions": [],
                }
        return found

    async def statuses(self, call: Call) -> Any:
        found = self._server.metastore.statuses
        return {"commandStatuses": {name: status.status for name, status in found.items()}}

    async def status(self, call: Call) -> Any:
        kind, name, action = (call.path[each] for each in ("type", "entity", "action"))
        for wanted in (f"{kind}/{name}/{action}", f"{kind}/`{name}`/{action}"):
            found = self._server.metastore.statuses.get(wanted)
            if found is not None:
                return _told(found)
        raise KsqlError(f"Command not found: {kind}/{name}/{action}", NOT_FOUND)

    async def valid_property(self, call: Call) -> Any:
        name = call.path["property"]
        if is_editable(name):
            return True
        raise KsqlError(
            f"One or more properties overrides set locally are prohibited by the KSQL server: [{name}]"
        )


def _told(found: CommandStatus) -> dict[str, Any]:
    return {"status": found.status, "message": found.message, "queryId": found.query_id}
