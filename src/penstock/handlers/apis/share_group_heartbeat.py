"""ShareGroupHeartbeat, v1: with it a member of a share group (KIP-932) joins, stays alive, learns which
partitions it reads, and leaves."""

from __future__ import annotations

from typing import Any, Final

from penstock.controller.features import SHARE_VERSION
from penstock.coordinator.coordinator import CoordinatorKind
from penstock.coordinator.promise import failed
from penstock.groups.messages import Client, ShareHeartbeat, ShareHeartbeatResult
from penstock.handlers.parts import ShareDataParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.handlers.topic_creation import ensure_internal_topic
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (1, 1)
ACCESS: Final = (
    Access(Operation.READ, ResourceType.GROUP),
    Access(Operation.DESCRIBE, ResourceType.TOPIC),
)


def handle(request: Request, broker: ShareDataParts) -> Outcome:
    wanted = _read(request)
    refusal = _refusal(request, broker, wanted)
    promise = broker.groups.share_heartbeat(wanted) if refusal is None else failed(refusal)

    def encode() -> bytes:
        fields: dict[str, Any] = {"throttle_time": 0, "error_code": ErrorCode.NONE, "member_id": None}
        try:
            fields |= _answer(outcome(promise))
        except KafkaError as error:
            fields |= {
                "error_code": error.code,
                "error_message": error.message or None,
                "member_epoch": 0,
                "heartbeat_interval": 0,
            }
        return encode_response(Api.SHARE_GROUP_HEARTBEAT, request.version, fields)

    return reply_when_done(broker, [promise], encode)


def _refusal(request: Request, broker: ShareDataParts, wanted: ShareHeartbeat) -> KafkaError | None:
    if broker.controller.image.features.get("share.version", SHARE_VERSION) < SHARE_VERSION:
        return KafkaError(ErrorCode.UNSUPPORTED_VERSION, "Share groups need share.version 1.")
    if not request.may(broker, Operation.READ, ResourceType.GROUP, wanted.group_id):
        return KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    for name in wanted.topic_names or ():
        if not request.may(broker, Operation.DESCRIBE, ResourceType.TOPIC, name):
            return KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, f"Not authorized to read {name}.")
    try:
        ensure_internal_topic(broker, CoordinatorKind.SHARE)  # the first fetch will need it
    except KafkaError as error:
        return error
    return None


def _read(request: Request) -> ShareHeartbeat:
    wanted = read_request(Api.SHARE_GROUP_HEARTBEAT, request.version, request.reader)
    names = wanted.subscribed_topic_names
    return ShareHeartbeat(
        wanted.group_id,
        wanted.member_id,
        wanted.member_epoch,
        wanted.rack_id,
        None if names is None else tuple(names),
        Client(request.client_id, f"/{request.host}"),
    )


def _answer(result: ShareHeartbeatResult) -> dict[str, Any]:
    assignment = None
    if result.assignment is not None:
        assignment = {
            "topic_partitions": [
                {"topic_id": topic_id, "partitions": tuple(sorted(indexes))}
                for topic_id, indexes in result.assignment.items()
            ]
        }
    return {
        "member_id": result.member_id,
        "member_epoch": result.member_epoch,
        "heartbeat_interval": result.heartbeat_interval_ms,
        "assignment": assignment,
    }
