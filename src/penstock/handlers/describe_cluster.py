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


def handle(request: Request, broker: Broker) -> Reply:
    wanted = read_request(Api.DESCRIBE_CLUSTER, request.version, request.reader)
    endpoint = broker.endpoints[request.listener]
    refused = getattr(wanted, "endpoint_type", BROKERS) != BROKERS
    fields = {
        "throttle_time": 0,
        "error_code": ErrorCode.MISMATCHED_ENDPOINT_TYPE if refused else ErrorCode.NONE,
        "error_message": "This is a broker's endpoint; ask it for brokers." if refused else None,
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
