"""Access control entries through the proxy: listed, created, deleted; refused without an authorizer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.testing import Broker
from tests.rest.proxies import Proxy, running_proxy

SECURED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
READS = {
    "resource_type": "TOPIC",
    "resource_name": "orders-",
    "pattern_type": "PREFIXED",
    "principal": "User:alice",
    "host": "*",
    "operation": "READ",
    "permission": "ALLOW",
}
ALTERS = {**READS, "resource_type": "CLUSTER", "resource_name": "kafka-cluster", "pattern_type": "LITERAL"}


@pytest.fixture(scope="module")
def secured() -> Iterator[Proxy]:
    with Broker(settings=SECURED) as broker, running_proxy(broker.bootstrap_servers) as running:
        yield running


def send(proxy: Proxy, method: str, path: str, body: Any = None) -> Any:
    return proxy.send(method, proxy.cluster() + path, body, "application/json")


def entries(proxy: Proxy, **wanted: str) -> list[dict[str, str]]:
    answer = proxy.client.get(f"{proxy.cluster()}/acls", params=wanted)
    assert answer.status_code == 200, answer.text
    assert answer.json()["kind"] == "KafkaAclList"
    return [{name: each[name] for name in READS} for each in answer.json()["data"]]


def test_entries_are_created_found_and_deleted(secured: Proxy) -> None:
    made = send(secured, "POST", "/acls", READS)
    assert (made.status_code, made.content) == (201, b"")
    assert entries(secured) == [READS]
    assert [each["principal"] for each in secured.client.get(made.headers["location"]).json()["data"]] == [
        "User:alice"
    ]
    writes = {**READS, "operation": "WRITE"}
    assert send(secured, "POST", "/acls:batch", {"data": [writes, ALTERS]}).status_code == 201
    assert entries(secured, resource_type="cluster") == [ALTERS]
    assert entries(secured, operation="WRITE", resource_type="TOPIC") == [writes]
    everything = {"resource_type": "TOPIC", "pattern_type": "ANY", "operation": "ANY", "permission": "ANY"}
    gone = secured.client.delete(f"{secured.cluster()}/acls", params=everything)
    assert sorted(each["operation"] for each in gone.json()["data"]) == ["READ", "WRITE"]
    assert entries(secured) == [ALTERS]


def test_what_is_no_entry_is_refused(secured: Proxy) -> None:
    assert send(secured, "POST", "/acls", {**READS, "operation": "EAT"}).json()["error_code"] == 40002
    assert send(secured, "POST", "/acls", {"principal": "User:alice"}).status_code == 422
    assert send(secured, "POST", "/acls", {**READS, "more": 1}).status_code == 422
    missing = send(secured, "DELETE", "/acls?resource_type=TOPIC")
    assert (missing.status_code, "pattern_type, operation, permission" in missing.json()["message"]) == (
        400,
        True,
    )


def test_a_cluster_without_an_authorizer_says_so(proxy: Proxy) -> None:
    refused = send(proxy, "GET", "/acls")
    assert (refused.status_code, refused.json()["error_code"]) == (400, 40002)
