"""DescribeConfigs, v1-v4: the settings of topics, of groups and of this broker, and its loggers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.controller.image import BROKER_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from penstock.controller.topics import check_name
from penstock.handlers import broker_loggers
from penstock.handlers.broker_loggers import BROKER_LOGGER
from penstock.handlers.config_entries import ConfigEntries
from penstock.handlers.parts import MetadataParts
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (1, 4)
ACCESS: Final = (
    Access(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, Refusal.EACH),
    Access(Operation.DESCRIBE_CONFIGS, ResourceType.GROUP, Refusal.EACH),
    Access(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER, Refusal.EACH, when="of a broker or its loggers"),
)


def handle(request: Request, broker: MetadataParts) -> Reply:
    wanted = read_request(Api.DESCRIBE_CONFIGS, request.version, request.reader)
    show_synonyms = wanted.include_synonyms
    show_documentation = getattr(wanted, "include_documentation", False)
    results = [
        _describe(request, broker, resource, lambda entry: _shown(entry, show_synonyms, show_documentation))
        for resource in wanted.resources
    ]
    return Reply(
        [encode_response(Api.DESCRIBE_CONFIGS, request.version, {"throttle_time": 0, "results": results})]
    )


def _describe(
    request: Request, broker: MetadataParts, resource: Any, shown: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    result: dict[str, Any] = {
        "resource_type": resource.resource_type,
        "resource_name": resource.resource_name,
        "error_code": ErrorCode.NONE,
        "error_message": "",  # as Kafka: never null
    }
    try:
        entries = _entries(request, broker, resource.resource_type, resource.resource_name)
    except KafkaError as error:
        return {**result, "error_code": error.code, "error_message": error.message, "configs": ()}
    names = resource.configuration_keys
    chosen = [shown(entry) for entry in entries if not names or entry["name"] in names]
    return {**result, "configs": chosen}


def _entries(request: Request, broker: MetadataParts, kind: int, name: str) -> list[dict[str, Any]]:
    if kind == TOPIC_RESOURCE:
        check_name(name)
        if not request.may(broker, Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, name):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, f"Not authorized to describe {name}.")
        if name not in broker.controller.image.topics:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return ConfigEntries(broker).topic(name)
    if kind == BROKER_RESOURCE:
        if not request.may(broker, Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER):
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Not authorized to describe the broker.")
        if name and not name.removeprefix("-").isdecimal():
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
        if name and name != str(broker.settings.node_id):
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"Unexpected broker id, expected {broker.settings.node_id} or empty string, "
                f"but received {name}",
            )
        entries = ConfigEntries(broker)
        return entries.broker() if name else entries.all_brokers()
    if kind == GROUP_RESOURCE:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        if not request.may(broker, Operation.DESCRIBE_CONFIGS, ResourceType.GROUP, name):
            raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED, f"Not authorized to describe {name}.")
        return ConfigEntries(broker).group(name)
    if kind == BROKER_LOGGER:
        if not request.may(broker, Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER):
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Not authorized to describe the broker.")
        return broker_loggers.entries(name, broker.settings.node_id)
    raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {kind}")


def _shown(entry: dict[str, Any], synonyms: bool, documentation: bool) -> dict[str, Any]:
    return {
        **entry,
        "synonyms": entry["synonyms"] if synonyms else (),
        "documentation": entry["documentation"] if documentation else None,
    }
