"""The OpenAPI document is whole, and the proxy keeps to it whatever is sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from penstock.client.admin import Admin
from penstock.rest.v3.tasks import UNSUPPORTED
from tests.rest.proxies import Proxy, running_proxy

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
NOT_SUPPORTED = {(method, path) for method, path, _ in UNSUPPORTED}
EXAMPLES = 2
"""For each operation; the long form has fifty times as many."""


@pytest.fixture(scope="module")
def tried(bootstrap_servers: str) -> Iterator[Proxy]:
    """A proxy of its own: what is sent here makes instances and topics at random."""
    with running_proxy(
        bootstrap_servers, consumer_instances_max="5", consumer_request_timeout_ms="20"
    ) as running:
        yield running


def test_every_route_is_described(proxy: Proxy) -> None:
    document = proxy.client.get("/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    operations = [name for path in document["paths"].values() for name in path]
    assert len(operations) > 60
    records = document["paths"]["/v3/clusters/{cluster_id}/topics/{topic_name}/records"]["post"]
    assert "application/json" in records["requestBody"]["content"]


@pytest.mark.timeout(900)
def test_nothing_that_fits_the_document_breaks_the_proxy(tried: Proxy, admin: Admin, long_form: bool) -> None:
    admin.create_topic("tried", 2, 1)
    known = {
        "cluster_id": tried.cluster().rpartition("/")[2],
        "topic_name": "tried",
        "topic": "tried",
        "group": "tried",
        "instance": tried.consumer("tried", "tried").rpartition("/")[2],
        "broker_id": str(admin.cluster().brokers[0].node_id),
    }
    schema = schemathesis.openapi.from_url(f"http://{tried.address}/openapi.json")
    failed = []
    with requests.Session() as session:
        for result in schema.get_all_operations():
            operation = result.ok()
            failed += offences(operation, known, session, EXAMPLES * (50 if long_form else 1))
    assert not failed, "\n\n".join(failed)


def offences(operation: Any, known: dict[str, str], session: requests.Session, examples: int) -> list[str]:
    """What is wrong with one operation; the names in its path are of things that are there."""
    keeps = operation.method == "delete"
    names = {name: value for name, value in known.items() if not keeps or name in ("cluster_id", "broker_id")}

    @given(case=operation.as_strategy())
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def attempt(case: Any) -> None:
        case.path_parameters.update({name: names[name] for name in names if name in case.path_parameters})
        response = case.call(session=session, timeout=30)
        refused = (operation.method.upper(), operation.path) in NOT_SUPPORTED
        case.validate_response(response, checks=CHECKS[1:] if refused else CHECKS)
        assert not refused or response.status_code in (400, 404, 405)

    try:
        attempt()
    except BaseException as error:  # a group of what each check found
        return [f"{operation.method.upper()} {operation.path}: {error}"]
    return []
