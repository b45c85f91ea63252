"""Principals on their way: nodes only where nodes alone may ask, and clients inside an Envelope."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.handlers.apis import envelope as envelope_api
from penstock.handlers.controller_table import CONTROLLER_HANDLERS
from penstock.handlers.forwarding import envelope, read_principal, write_principal
from penstock.handlers.request import Request
from penstock.protocol.apis import Api, is_flexible
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_request, read_response
from penstock.protocol.primitives import Reader
from penstock.security.operations import CLUSTER_NAME, Operation, ResourceType
from penstock.security.principals import ANONYMOUS, THIS_NODE, Principal, user
from tests.handlers.one_node import OneNode, body_of, request_frame

ALICE = user("alice")


class Recording:
    """Allows what it is told to, and remembers each question."""

    def __init__(self, *denied: Operation) -> None:
        self.denied = denied
        self.asked: list[tuple[Principal, str, Operation, ResourceType, str]] = []

    def authorize_any(
        self, principal: Principal, host: str, operation: Operation, resource: ResourceType
    ) -> bool:
        return operation not in self.denied

    def authorize(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource: ResourceType,
        name: str,
        request: str = "",
    ) -> bool:
        self.asked.append((principal, host, operation, resource, name))
        return operation not in self.denied


def ask_controller(node: OneNode, api: Api, version: int, body: bytes, principal: Principal) -> bytes:
    reader = Reader(memoryview(bytearray(body)), flexible=is_flexible(api, version))
    request = Request(api, version, "", principal, "10.0.0.9", "CONTROLLER", reader)
    return body_of(node.settle(CONTROLLER_HANDLERS[api].handle(request, node.broker)))


NODE_REQUESTS: list[tuple[Api, int, dict[str, Any]]] = [
    (Api.ALLOCATE_PRODUCER_IDS, 0, {"broker_id": 1, "broker_epoch": 1}),
    (Api.ALTER_PARTITION, 3, {"broker_id": 1, "broker_epoch": 1, "topics": ()}),
    (Api.ASSIGN_REPLICAS_TO_DIRS, 0, {"broker_id": 1, "broker_epoch": 1, "directories": ()}),
    (
        Api.BROKER_HEARTBEAT,
        1,
        {
            "broker_id": 1,
            "broker_epoch": 1,
            "current_metadata_offset": 1,
            "want_fence": False,
            "want_shut_down": False,
        },
    ),
    (
        Api.BROKER_REGISTRATION,
        4,
        {
            "broker_id": 9,
            "cluster_id": "x",
            "incarnation_id": b"i" * 16,
            "listeners": (),
            "features": (),
            "rack": None,
            "is_migrating_zk_broker": False,
        },
    ),
    (Api.VOTE, 2, {"cluster_id": None, "voter_id": 1, "topics": ()}),
    (Api.FETCH_SNAPSHOT, 1, {"replica_id": 1, "max_bytes": 1, "topics": ()}),
    (Api.BEGIN_QUORUM_EPOCH, 1, {"cluster_id": None, "voter_id": 1, "topics": (), "leader_endpoints": ()}),
    (Api.END_QUORUM_EPOCH, 1, {"cluster_id": None, "topics": (), "leader_endpoints": ()}),
    (Api.ENVELOPE, 0, {"request_data": b"", "request_principal": b"", "client_host_address": b""}),
]


@pytest.mark.parametrize(
    ("api", "version", "fields"), NODE_REQUESTS, ids=lambda value: getattr(value, "name", "")
)
def test_a_stranger_is_refused_what_only_nodes_may_ask(
    api: Api, version: int, fields: dict[str, Any]
) -> None:
    node = OneNode()
    node.broker.authorizer = Recording(Operation.CLUSTER_ACTION)
    answer = read_response(
        api, version, ask_controller(node, api, version, encode_request(api, version, fields), ALICE)
    )
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_every_api_of_nodes_is_among_them() -> None:
    from penstock.handlers.table import HANDLERS

    assert {api for api, *_ in NODE_REQUESTS} == set(CONTROLLER_HANDLERS) - set(HANDLERS)


def create_topics(name: str) -> bytes:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}
    fields = {"topics": [topic], "timeout": 1000, "validate_only": False}
    return request_frame(Api.CREATE_TOPICS, 7, encode_request(Api.CREATE_TOPICS, 7, fields))


def test_a_forwarded_request_is_authorized_as_the_client_with_its_address() -> None:
    node = OneNode()
    seen = node.broker.authorizer = Recording()
    sealed = envelope(create_topics("t"), ALICE, "192.0.2.7")
    answer = read_response(Api.ENVELOPE, 0, ask_controller(node, Api.ENVELOPE, 0, sealed, THIS_NODE))
    assert answer.error_code == 0
    assert (ALICE, "192.0.2.7", Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME) in seen.asked
    assert {
        principal for principal, _, operation, *_ in seen.asked if operation is not Operation.CLUSTER_ACTION
    } == {ALICE}


def test_without_a_principal_the_sender_of_the_envelope_asks() -> None:
    node = OneNode()
    seen = node.broker.authorizer = Recording()
    answer = ask_controller(node, Api.ENVELOPE, 0, envelope(create_topics("t"), None), user("broker"))
    assert read_response(Api.ENVELOPE, 0, answer).error_code == 0
    assert {principal for principal, *_ in seen.asked} == {user("broker")}


def test_a_principal_that_cannot_be_read_is_refused_as_kafka_refuses_it() -> None:
    node = OneNode()
    fields = {
        "request_data": create_topics("t"),
        "request_principal": b"\x00\x07what",
        "client_host_address": bytes(4),
    }
    body = encode_request(Api.ENVELOPE, 0, fields)
    answer = read_response(Api.ENVELOPE, 0, ask_controller(node, Api.ENVELOPE, 0, body, THIS_NODE))
    assert answer.error_code == ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE
    assert envelope_api.ACCESS


@pytest.mark.parametrize("principal", [ANONYMOUS, ALICE, Principal("Group", "CN=a:b,O=ü")])
def test_a_principal_survives_its_envelope(principal: Principal) -> None:
    assert read_principal(write_principal(principal)) == principal


def test_a_principal_of_a_later_version_is_not_guessed_at() -> None:
    with pytest.raises(KafkaError) as refused:
        read_principal(b"\x00\x01" + write_principal(ALICE)[2:])
    assert refused.value.code is ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE
