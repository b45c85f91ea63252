"""DescribeCluster, v0-v1: the brokers, the controller and the cluster's id."""

from __future__ import annotations

from typing import Final

from penstock.handlers.authorize import ResourceType
from penstock.handlers.broker import Broker
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import encode_response, read_request
from penstock.protocol.metadata import OPERATIONS_NOT_ASKED

VERSIONS: Final = (0, 1)
BROKERS: Final = 1
CONTROLLERS: Final = 2


def handle(request: Request, broker: Broker) -> Reply:
    wanted = read_request(Api.DESCRIBE_CLUSTER, request.version, request.reader)
    endpoint = broker.endpoints[request.listener]
    code, message = _refusal(getattr(wanted, "endpoint_type", BROKERS))
    fields = {
        "throttle_time": 0,
        "error_code": code,
        "error_message": message,
        "endpoint_type": BROKERS,
        "cluster_id": broker.cluster_id,
        "controller_id": broker.settings.node_id,
        "brokers": [
            {
                "broker_id": endpoint.node_id,
                "host": endpoint.host,
                "port": endpoint.port,
                "rack": endpoint.rack,
            }
        ],
        "cluster_authorized_operations": request.operations(broker, ResourceType.CLUSTER)
        if wanted.include_cluster_authorized_operations
        else OPERATIONS_NOT_ASKED,
    }
    return Reply([encode_response(Api.DESCRIBE_CLUSTER, request.version, fields)])


def _refusal(endpoint_type: int) -> tuple[ErrorCode, str | None]:
    if endpoint_type == BROKERS:
        return ErrorCode.NONE, None
    if endpoint_type == CONTROLLERS:
        return ErrorCode.MISMATCHED_ENDPOINT_TYPE, (
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
        )
    return ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {endpoint_type}"
