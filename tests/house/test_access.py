"""Nothing is served that asks nobody: each API and each HTTP route declares the access that it asks for."""

from __future__ import annotations

from typing import Any, cast

from penstock.connect.rest.table import routes as connect_routes
from penstock.connect.worker.herder import Herder
from penstock.console.api import api_routes
from penstock.console.fake_backend import FakeBackend
from penstock.console.services import Services
from penstock.handlers.controller_table import CONTROLLER_HANDLERS
from penstock.handlers.table import HANDLERS
from penstock.mirror.service import routes as mirror_routes
from penstock.registry.routes.table import routes as registry_routes
from penstock.registry.service import Registry
from penstock.rest.config import RestSettings
from penstock.rest.proxy import Proxy
from penstock.rest.v2.routes import v2_routes
from penstock.rest.v3.routes import v3_routes
from penstock.security.access import CLUSTER_ACTION, Access, ByBroker, OnSubject, Open
from penstock.sqlserver.queries import ClientQueries
from penstock.sqlserver.routes import routes as sql_routes
from penstock.sqlserver.server import SqlServer
from penstock.web import Route


def problem_of(access: Any) -> str | None:
    if isinstance(access, Open):
        return None if access.reason else "is open without a reason"
    if isinstance(access, tuple) and access and all(isinstance(one, Access) for one in access):
        return None
    return "declares no ACCESS"


def http_routes() -> list[Route]:
    proxy = Proxy("127.0.0.1:1", RestSettings())
    registry = cast(Registry, None)
    return [
        *v2_routes(proxy),
        *v3_routes(proxy),
        *api_routes(Services.over(FakeBackend())),
        *connect_routes(cast(Herder, None), "cluster"),
        *mirror_routes(()),
        *registry_routes(registry, "cluster", "group", mode_mutability=True),
        *sql_routes(cast(SqlServer, None), cast(ClientQueries, None)),
    ]


def test_every_api_declares_its_access() -> None:
    tables = {"brokers": HANDLERS, "controllers": CONTROLLER_HANDLERS}
    offences = [
        f"{api.name} on the listeners of {where} {problem}"
        for where, table in tables.items()
        for api, handler in cast(dict[Any, Any], table).items()
        if (problem := problem_of(getattr(handler, "ACCESS", None)))
    ]
    assert not offences, "\n".join(["", *offences])


def test_what_only_nodes_may_send_asks_for_cluster_action() -> None:
    on_controllers_only = set(CONTROLLER_HANDLERS) - set(HANDLERS)
    assert {CONTROLLER_HANDLERS[api].ACCESS for api in on_controllers_only} == {CLUSTER_ACTION}


def test_every_route_declares_its_access() -> None:
    offences = [
        f"{route.method} {route.path}"
        for route in http_routes()
        if not isinstance(cast(Any, route.access), (Access, ByBroker, OnSubject, Open))
    ]
    assert not offences, "\n".join(["", *offences])


def test_an_api_without_access_would_be_found() -> None:
    assert problem_of(None) == "declares no ACCESS"
    assert problem_of(()) == "declares no ACCESS"
    assert problem_of(Open("")) == "is open without a reason"
