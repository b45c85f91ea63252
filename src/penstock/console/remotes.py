"""The other services that the console shows: where each is, and how each is started."""

from __future__ import annotations

from dataclasses import dataclass, field

import httpx

from penstock.console.rest_service import About, RestService

REGISTRY = About(
    "Schema Registry",
    "It keeps the schemas of topics, and checks that a new version fits the old ones.",
    "penstock registry --bootstrap-servers HOST:PORT",
)
CONNECT = About(
    "Connect",
    "It copies data between topics and other systems: databases, files, object stores.",
    "penstock connect --bootstrap-servers HOST:PORT",
)
SQL = About(
    "SQL",
    "It runs ksqlDB's statements: streams, tables and queries that never end.",
    "penstock sql --bootstrap-servers HOST:PORT",
)
MIRROR = About(
    "Mirror",
    "It copies topics, groups and ACLs between clusters.",
    "penstock mirror --config mm2.properties",
)


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where services listen. An empty list of metrics means that brokers publish none."""

    registry: str = "http://127.0.0.1:8081"
    connect: str = "http://127.0.0.1:8083"
    sql: str = "http://127.0.0.1:8088"
    metrics: tuple[str, ...] = ()
    """Pages for Prometheus: of brokers, and of others that may be shown."""
    pipelines: tuple[str, ...] = ()
    """Pages for Prometheus of processes that run pipelines, besides the SQL server and Connect."""
    mirrors: tuple[str, ...] = ("http://127.0.0.1:8084",)


@dataclass(frozen=True, slots=True)
class Remotes:
    registry: RestService
    connect: RestService
    sql: RestService
    metrics: tuple[str, ...] = ()
    pipelines: tuple[str, ...] = ()
    transport: httpx.AsyncBaseTransport | None = field(default=None)
    """In tests: what answers in place of the network."""
    mirrors: tuple[RestService, ...] = ()

    @classmethod
    def at(cls, addresses: Addresses, transport: httpx.AsyncBaseTransport | None = None) -> Remotes:
        return cls(
            RestService(REGISTRY, addresses.registry, transport),
            RestService(CONNECT, addresses.connect, transport),
            RestService(SQL, addresses.sql, transport),
            addresses.metrics,
            addresses.pipelines,
            transport,
            tuple(RestService(MIRROR, url, transport) for url in addresses.mirrors),
        )

    async def close(self) -> None:
        for service in (self.registry, self.connect, self.sql, *self.mirrors):
            await service.close()
