"""Every route passes the hook for authentication before anything else is looked at."""

from __future__ import annotations

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from penstock.rest.config import RestSettings
from penstock.rest.main import rest_app
from penstock.rest.proxy import Proxy
from penstock.rest.v2.routes import v2_routes
from penstock.rest.v3.routes import v3_routes
from penstock.web import Caller, HttpError, Route


async def nobody(_request: Request, _route: Route) -> Caller:
    raise HttpError(401, "Who are you?", 40101)


def routes() -> list[Route]:
    proxy = Proxy("127.0.0.1:1", RestSettings())
    return [*v2_routes(proxy), *v3_routes(proxy)]


@pytest.fixture(scope="module")
def locked() -> TestClient:
    """Not entered, so that no client of Kafka is started: none is needed to be turned away."""
    return TestClient(rest_app("127.0.0.1:1", RestSettings(), nobody))


@pytest.mark.parametrize("route", routes(), ids=lambda route: f"{route.method} {route.path}")
def test_nobody_passes_who_is_not_known(locked: TestClient, route: Route) -> None:
    answer = locked.request(route.method, route.path.replace("{", "").replace("}", ""))
    assert (answer.status_code, answer.json()["error_code"]) == (401, 40101)
