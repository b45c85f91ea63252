"""DescribeClientQuotas, v0-v1: the quotas that match a filter."""

from __future__ import annotations

from typing import Any, Final

from penstock.controller.quotas import Component, described_quotas
from penstock.handlers.parts import MetadataParts
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.quotas.entities import Entity
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 1)
ACCESS: Final = (Access(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER),)


def handle(request: Request, broker: MetadataParts) -> Reply:
    wanted = read_request(Api.DESCRIBE_CLIENT_QUOTAS, request.version, request.reader)
    fields: dict[str, Any] = {"throttle_time": 0, "error_code": ErrorCode.NONE, "error_message": None}
    try:
        if not request.may(broker, Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER):
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
        components = [Component(part.entity_type, part.match_type, part.match) for part in wanted.components]
        found = described_quotas(broker.controller.image, components, strict=wanted.strict)
        fields["entries"] = [
            {
                "entity": entity_fields(entity),
                "values": [{"key": key, "value": value} for key, value in values.items()],
            }
            for entity, values in found.items()
        ]
    except KafkaError as error:
        fields |= {"error_code": error.code, "error_message": error.message, "entries": None}
    return Reply([encode_response(Api.DESCRIBE_CLIENT_QUOTAS, request.version, fields)])


def entity_fields(entity: Entity) -> list[dict[str, Any]]:
    return [{"entity_type": kind, "entity_name": name} for kind, name in entity]
