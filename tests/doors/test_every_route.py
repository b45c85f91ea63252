"""S4: every route of every service × {no credentials, bad ones, a stranger, an owner, an administrator}.

They are generated from the tables. A route that is added is tried without a word here."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import Any, cast

import httpx
import pytest

from penstock.connect.rest.table import routes as connect_routes
from penstock.connect.worker.herder import Herder
from penstock.console.api import api_routes
from penstock.console.fake_backend import FakeBackend
from penstock.console.services import Services
from penstock.registry.routes.table import routes as registry_routes
from penstock.registry.service import Registry
from penstock.rest.config import RestSettings
from penstock.rest.proxy import Proxy
from penstock.rest.v2.routes import v2_routes
from penstock.rest.v3.routes import v3_routes
from penstock.security.access import Open
from penstock.sqlserver.queries import ClientQueries
from penstock.sqlserver.routes import routes as sql_routes
from penstock.sqlserver.server import SqlServer
from penstock.web import Route
from tests.security.guarded_services import GROUP, OTHER, PASSWORDS, TOPIC, GuardedBroker, ServiceProcess

OWN = (
    Route("GET", "/openapi.json", cast(Any, None), "", access=Open("the document")),
    Route("GET", "/metrics", cast(Any, None), "", access=Open("numbers")),
    Route("GET", "/health", cast(Any, None), "", access=Open("that it serves")),
    Route("GET", "/ready", cast(Any, None), "", access=Open("that it serves")),
)
CONSOLE = (
    Route("GET", "/api/me", cast(Any, None), "", access=Open("who is asked")),
    Route("GET", "/openapi.json", cast(Any, None), "", access=Open("the document")),
    Route("GET", "/metrics", cast(Any, None), "", access=Open("numbers")),
)
VALUES = {
    "topic": TOPIC,
    "topic_name": TOPIC,
    "subject": f"{TOPIC}-value",
    "group": GROUP,
    "consumer_group_id": GROUP,
    "partition": "0",
    "partition_id": "0",
    "version": "1",
    "id": "1",
    "broker_id": "0",
    "name": "retention.ms",
}
"""What stands for the parameters of a path; for others a word that names nothing."""
NAMED_AFTER = {"topics": TOPIC, "groups": GROUP, "schemas": f"{TOPIC}-value", "users": "bob"}
"""What `{name}` stands for in the console's paths."""
HIDDEN = (OTHER, f"{OTHER}-value")
"""Names that neither the stranger nor the owner may learn."""


def tables() -> dict[str, tuple[Route, ...]]:
    proxy = Proxy("127.0.0.1:1", RestSettings())
    return {
        "rest": (*v2_routes(proxy), *v3_routes(proxy)),
        "registry": registry_routes(cast(Registry, None), "cluster", "group", mode_mutability=True),
        "sql": sql_routes(cast(SqlServer, None), cast(ClientQueries, None)),
        "connect": connect_routes(cast(Herder, None), "cluster"),
        "console": api_routes(Services.over(FakeBackend())),
    }


def path_of(route: Route, cluster_id: str) -> str:
    values = {**VALUES, "cluster_id": cluster_id}
    parts: list[str] = []
    for part in route.segments:
        if part.startswith("{"):
            known = NAMED_AFTER.get(parts[-1] if parts else "", "none")
            part = known if part == "{name}" and known != "none" else values.get(part[1:-1], "none")
        parts.append(part)
    return "/" + "/".join(parts)


@pytest.fixture(scope="module")
def https(guarded: GuardedBroker) -> Iterator[httpx.Client]:
    context = ssl.create_default_context(cafile=str(guarded.authority.path))
    with httpx.Client(verify=context, timeout=60) as client:
        yield client


@pytest.mark.claim("S4")
@pytest.mark.parametrize("name", ["registry", "rest", "sql", "connect", "console"])
def test_every_route_asks_every_caller(
    name: str, request: pytest.FixtureRequest, https: httpx.Client
) -> None:
    service: ServiceProcess = request.getfixturevalue(name)
    cluster_id = "x"
    if name == "rest":
        found = https.get(f"{service.url}/v3/clusters", auth=("admin", PASSWORDS["admin"])).json()
        cluster_id = found["data"][0]["cluster_id"]
    own = CONSOLE if name == "console" else OWN
    offences: list[str] = []
    tried = 0
    for caller, auth in callers().items():  # those who may delete come last
        for route in (*tables()[name], *own):
            url = service.url + path_of(route, cluster_id)
            answer = https.request(route.method, url, auth=auth)
            tried += 1
            problem = problem_of(caller, route, answer)
            if problem:
                offences.append(f"{route.method} {route.path} as {caller}: {problem} ({answer.status_code} "
                                f"{answer.text[:200]})")  # fmt: skip
    assert not offences, "\n".join(["", *offences])
    assert tried == 5 * (len(tables()[name]) + len(own))
    print(f"{name}: {tried} requests, {len(tables()[name])} routes")


def callers() -> dict[str, tuple[str, str] | None]:
    return {
        "none": None,
        "bad": ("admin", "wrong"),
        "low": ("bob", PASSWORDS["bob"]),
        "owner": ("alice", PASSWORDS["alice"]),
        "admin": ("admin", PASSWORDS["admin"]),
    }


def problem_of(caller: str, route: Route, answer: httpx.Response) -> str:
    """What is wrong with an answer; empty when nothing is."""
    status = answer.status_code
    is_away = status == 503 and "50302" in answer.text  # the console is started without its neighbours
    if status >= 500 and status != 501 and "no body" not in answer.text and not is_away:  # Connect's answer
        return "the service failed"
    if caller in ("none", "bad"):
        return "" if status == 401 else "was not asked who it is"
    if status == 401:
        return "was not believed"
    if isinstance(route.access, Open):
        return "" if status != 403 else "was refused what is open to all who are known"
    if caller == "admin":
        return "was refused" if status == 403 else ""
    if any(word in answer.text for word in HIDDEN):
        return "learnt a name"
    changes = route.method in ("PUT", "DELETE", "PATCH")
    if caller == "low" and status < 300 and (TOPIC in answer.text or changes):
        return "saw or changed what is the owner's"
    return ""
