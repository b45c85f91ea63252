"""Changing settings on behalf of a request: IncrementalAlterConfigs and AlterConfigs share it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from penstock.controller.configs import Resource
from penstock.controller.controller import Decision
from penstock.controller.image import GROUP_RESOURCE, TOPIC_RESOURCE, Image
from penstock.controller.metadata_records import MetadataRecord
from penstock.handlers.parts import ControllerParts
from penstock.handlers.promised import CONTROLLER_SECONDS, decided, reply_when_done
from penstock.handlers.reply import Reply, Wait
from penstock.handlers.request import Request
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response
from penstock.security.operations import Operation, ResourceType

MAX_RECORDS: Final = 10_000

Decide = Callable[[Image, Resource, Any], list[MetadataRecord]]


def change_configs(request: Request, broker: ControllerParts, wanted: Any, decide: Decide) -> Reply | Wait:
    """The answer to a request, resource by resource. Those that are not refused are committed together."""
    resources = [Resource(item.resource_type, item.resource_name) for item in wanted.resources]
    times = Counter(resources)

    def decide_all(image: Image) -> Decision[list[KafkaError | None]]:
        records: list[MetadataRecord] = []
        refusals: list[KafkaError | None] = []
        for resource, item in zip(resources, wanted.resources, strict=True):
            try:
                if times[resource] > 1:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
                _check_allowed(request, broker, resource)
                records += bounded(decide(image, resource, item), len(records))
                refusals.append(None)
            except KafkaError as error:
                refusals.append(error)
        return ([] if wanted.validate_only else records), refusals

    promise = broker.controller.submit(decide_all)

    def encode() -> bytes:
        try:
            refusals = decided(promise)
        except KafkaError as error:
            refusals = [error] * len(resources)
        fields = {"throttle_time": 0, "responses": _results(resources, refusals)}
        return encode_response(request.api, request.version, fields)

    return reply_when_done(broker, [promise], encode, seconds=CONTROLLER_SECONDS)


def bounded(records: list[MetadataRecord], before: int) -> list[MetadataRecord]:
    if before + len(records) > MAX_RECORDS:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
    return records


def _check_allowed(request: Request, broker: ControllerParts, resource: Resource) -> None:
    if resource.type == TOPIC_RESOURCE:
        if not request.may(broker, Operation.ALTER_CONFIGS, ResourceType.TOPIC, resource.name):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
    elif resource.type == GROUP_RESOURCE:
        if not request.may(broker, Operation.ALTER_CONFIGS, ResourceType.GROUP, resource.name):
            raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED, "Group authorization failed.")
    elif not request.may(broker, Operation.ALTER_CONFIGS, ResourceType.CLUSTER):
        raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")


def _results(resources: Sequence[Resource], refusals: Sequence[KafkaError | None]) -> list[dict[str, Any]]:
    return [
        {
            "error_code": refusal.code if refusal else ErrorCode.NONE,
            "error_message": refusal.message if refusal else None,
            "resource_type": resource.type,
            "resource_name": resource.name,
        }
        for resource, refusal in zip(resources, refusals, strict=True)
    ]
