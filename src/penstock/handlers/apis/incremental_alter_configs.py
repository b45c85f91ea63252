"""IncrementalAlterConfigs, v0-v1: set, delete, append to and subtract from settings of topics,
groups and brokers, and levels of this broker's loggers.

On purpose unlike Kafka: a request that changes loggers changes nothing else; what else it names is refused.
"""

from __future__ import annotations

from typing import Any, Final

from penstock.controller.configs import Change, Resource, decide_changes
from penstock.controller.image import Image
from penstock.controller.metadata_records import MetadataRecord
from penstock.handlers import broker_loggers
from penstock.handlers.broker_loggers import BROKER_LOGGER
from penstock.handlers.config_changes import change_configs
from penstock.handlers.parts import ControllerParts, MetadataParts
from penstock.handlers.reply import Reply, Wait
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 1)
ACCESS: Final = (
    Access(Operation.ALTER_CONFIGS, ResourceType.TOPIC, Refusal.EACH),
    Access(Operation.ALTER_CONFIGS, ResourceType.GROUP, Refusal.EACH),
    Access(Operation.ALTER_CONFIGS, ResourceType.CLUSTER, Refusal.EACH, when="of a broker or its loggers"),
)


def refuse_on_entry(request: Request, broker: MetadataParts) -> Reply | None:
    """Loggers belong to the node that the client is connected to: no controller is asked."""
    begin = request.reader.position
    wanted = read_request(Api.INCREMENTAL_ALTER_CONFIGS, request.version, request.reader)
    request.reader.position = begin  # the handler reads it again
    if not any(item.resource_type == BROKER_LOGGER for item in wanted.resources):
        return None
    responses = [_loggers_changed(request, broker, item, wanted.validate_only) for item in wanted.resources]
    fields = {"throttle_time": 0, "responses": responses}
    return Reply([encode_response(Api.INCREMENTAL_ALTER_CONFIGS, request.version, fields)])


def _loggers_changed(
    request: Request, broker: MetadataParts, item: Any, validate_only: bool
) -> dict[str, Any]:
    result = {"resource_type": item.resource_type, "resource_name": item.resource_name}
    try:
        if item.resource_type != BROKER_LOGGER:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Loggers are changed by a request of their own.")
        if not request.may(broker, Operation.ALTER_CONFIGS, ResourceType.CLUSTER):
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
        node_id = broker.settings.node_id
        broker_loggers.change(item.resource_name, item.configs, node_id, validate_only=validate_only)
    except KafkaError as error:
        return {**result, "error_code": error.code, "error_message": error.message}
    return {**result, "error_code": ErrorCode.NONE, "error_message": None}


def handle(request: Request, broker: ControllerParts) -> Reply | Wait:
    wanted = read_request(Api.INCREMENTAL_ALTER_CONFIGS, request.version, request.reader)

    def decide(image: Image, resource: Resource, item: Any) -> list[MetadataRecord]:
        changes = [Change(config.name, config.config_operation, config.value) for config in item.configs]
        return decide_changes(image, resource, changes, broker.static_settings)

    return change_configs(request, broker, wanted, decide)
