"""ConsumerGroupHeartbeat, v0-v1: the one request of the consumer protocol (KIP-848). With it a member joins,
stays alive, gives partitions up, gets others, and leaves."""

from __future__ import annotations

from typing import Final

from penstock.controller.features import GROUP_VERSION
from penstock.coordinator.promise import failed
from penstock.groups.messages import Client, ConsumerHeartbeat, ConsumerHeartbeatResult
from penstock.handlers.parts import GroupParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.heartbeats import (
    ConsumerAnswer,
    encode_consumer_response,
    read_consumer_heartbeat,
)
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 1)
ACCESS: Final = (
    Access(Operation.READ, ResourceType.GROUP),
    Access(Operation.DESCRIBE, ResourceType.TOPIC),
)
MEMBER_ID_REQUIRED_FROM: Final = 1


def handle(request: Request, broker: GroupParts) -> Outcome:
    wanted = _read(request)
    refusal = _refusal(request, broker, wanted)
    promise = broker.groups.consumer_heartbeat(wanted) if refusal is None else failed(refusal)

    def encode() -> bytes:
        try:
            answer = _answer(outcome(promise))
        except KafkaError as error:
            answer = ConsumerAnswer(error.code, error.message or None)
        return encode_consumer_response(answer)

    return reply_when_done(broker, [promise], encode)


def _refusal(request: Request, broker: GroupParts, wanted: ConsumerHeartbeat) -> KafkaError | None:
    if broker.controller.image.features.get("group.version", GROUP_VERSION) < GROUP_VERSION:
        return KafkaError(ErrorCode.UNSUPPORTED_VERSION, "The consumer protocol needs group.version 1.")
    if not request.may(broker, Operation.READ, ResourceType.GROUP, wanted.group_id):
        return KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    for name in wanted.topic_names or ():
        if not request.may(broker, Operation.DESCRIBE, ResourceType.TOPIC, name):
            return KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, f"Not authorized to read {name}.")
    return None


def _read(request: Request) -> ConsumerHeartbeat:
    wanted = read_consumer_heartbeat(request.reader, request.version)
    return ConsumerHeartbeat(
        **wanted._asdict(),
        client=Client(request.client_id, f"/{request.host}"),
        requires_member_id=request.version >= MEMBER_ID_REQUIRED_FROM,
    )


def _answer(result: ConsumerHeartbeatResult) -> ConsumerAnswer:
    return ConsumerAnswer(
        ErrorCode.NONE,
        None,
        result.member_id,
        result.member_epoch,
        result.heartbeat_interval_ms,
        result.assignment,
    )
