"""DescribeCluster, v0-v2: the id of the cluster, and its brokers. On a controller's listener the answer
has the controllers instead."""

from __future__ import annotations

from typing import Any, Final

from penstock.handlers.cluster_nodes import controller_listeners, controller_node, reached
from penstock.handlers.parts import MetadataParts
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import encode_response, read_request
from penstock.protocol.metadata import OPERATIONS_NOT_ASKED, Node
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 2)
ACCESS: Final = (
    Access(Operation.ALTER, ResourceType.CLUSTER, when="a controller is asked"),
    Access(Operation.DESCRIBE, ResourceType.CLUSTER, Refusal.HIDDEN, when="operations are asked for"),
)
"""Every client may learn of the brokers, or it could not reach them."""
BROKERS: Final = 1
CONTROLLERS: Final = 2


def handle(request: Request, broker: MetadataParts) -> Reply:
    wanted = read_request(Api.DESCRIBE_CLUSTER, request.version, request.reader)
    here = CONTROLLERS if request.listener in controller_listeners(broker) else BROKERS
    code, message = _refusal(getattr(wanted, "endpoint_type", BROKERS), here)
    if here == CONTROLLERS and not request.may(broker, Operation.ALTER, ResourceType.CLUSTER):
        code, message = ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."
    told = _controllers(broker) if here == CONTROLLERS else _brokers(request, broker, wanted)
    fields = {
        "throttle_time": 0,
        "error_code": code,
        "error_message": message,
        "endpoint_type": here,
        "cluster_id": broker.cluster_id,
        "controller_id": _controller_id(broker, here) if code is ErrorCode.NONE else -1,
        "brokers": told if code is ErrorCode.NONE else (),
        "cluster_authorized_operations": request.cluster_operations(broker)
        if wanted.include_cluster_authorized_operations and code is ErrorCode.NONE
        else OPERATIONS_NOT_ASKED,
    }
    return Reply([encode_response(Api.DESCRIBE_CLUSTER, request.version, fields)])


def _controller_id(broker: MetadataParts, here: int) -> int:
    if here == BROKERS:
        return controller_node(broker)
    active = broker.controller.active_id
    return -1 if active is None else active


def _brokers(request: Request, broker: MetadataParts, wanted: Any) -> list[dict[str, Any]]:
    with_fenced = getattr(wanted, "include_fenced_brokers", False)
    told = []
    for state in broker.controller.image.brokers.values():
        node = reached(state, request.listener)
        if node is not None and (with_fenced or not state.fenced):
            told.append(_told(node) | {"is_fenced": state.fenced})
    return told


def _controllers(broker: MetadataParts) -> list[dict[str, Any]]:
    return [_told(Node(number, *place)) for number, place in broker.settings.voters.items()]


def _told(node: Node) -> dict[str, Any]:
    return {
        "broker_id": node.node_id,
        "host": node.host,
        "port": node.port,
        "rack": node.rack,
        "is_fenced": False,
    }


def _refusal(endpoint_type: int, here: int) -> tuple[ErrorCode, str | None]:
    if endpoint_type == here:
        return ErrorCode.NONE, None
    names = {BROKERS: "BROKER", CONTROLLERS: "CONTROLLER"}
    if endpoint_type in names:
        return ErrorCode.MISMATCHED_ENDPOINT_TYPE, (
            f"The request was sent to an endpoint of type {names[here]}, "
            f"but we wanted an endpoint of type {names[endpoint_type]}"
        )
    return ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {endpoint_type}"
