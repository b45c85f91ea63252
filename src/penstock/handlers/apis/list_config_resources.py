"""ListConfigResources, v0-v1: the resources that have settings.

v0 lists subscriptions to client metrics, of which there are none here. v1 lists topics, brokers, and the
groups that have settings of their own.
"""

from __future__ import annotations

from typing import Any, Final

from penstock.controller.image import BROKER_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from penstock.handlers.broker_loggers import BROKER_LOGGER
from penstock.handlers.parts import MetadataParts
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 1)
ACCESS: Final = (Access(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER),)
CLIENT_METRICS: Final = 16
KNOWN_TYPES: Final = frozenset(
    {TOPIC_RESOURCE, BROKER_RESOURCE, BROKER_LOGGER, CLIENT_METRICS, GROUP_RESOURCE}
)


def handle(request: Request, broker: MetadataParts) -> Reply:
    wanted = read_request(Api.LIST_CONFIG_RESOURCES, request.version, request.reader)
    types = frozenset({CLIENT_METRICS} if request.version == 0 else wanted.resource_types or KNOWN_TYPES)
    error, found = ErrorCode.NONE, _resources(broker, types)
    if not request.may(broker, Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER):
        error, found = ErrorCode.CLUSTER_AUTHORIZATION_FAILED, []
    elif not types <= KNOWN_TYPES:
        error, found = ErrorCode.UNSUPPORTED_VERSION, []
    fields = {"throttle_time": 0, "error_code": error, "config_resources": found}
    return Reply([encode_response(Api.LIST_CONFIG_RESOURCES, request.version, fields)])


def _resources(broker: MetadataParts, types: frozenset[int]) -> list[dict[str, Any]]:
    found = []
    if TOPIC_RESOURCE in types:
        found += [(TOPIC_RESOURCE, name) for name in broker.controller.image.topics]
    if GROUP_RESOURCE in types:
        found += [
            key
            for key, config in broker.controller.image.configs.items()
            if key[0] == GROUP_RESOURCE and config
        ]
    for kind in (BROKER_RESOURCE, BROKER_LOGGER):
        if kind in types:
            found.append((kind, str(broker.settings.node_id)))
    return [{"resource_type": kind, "resource_name": name} for kind, name in found]
