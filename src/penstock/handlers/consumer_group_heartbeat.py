"""ConsumerGroupHeartbeat, v0-v1: a member of the consumer protocol (KIP-848) joins, stays, gives up, gets and
leaves by this one request."""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import failed
from penstock.groups.messages import Client, ConsumerHeartbeat, ConsumerHeartbeatResult
from penstock.handlers.authorize import Operation, ResourceType
from penstock.handlers.broker import Broker
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, id_bytes, milliseconds, read_request

VERSIONS: Final = (0, 1)
MEMBER_ID_REQUIRED_FROM: Final = 1


def handle(request: Request, broker: Broker) -> Outcome:
    wanted = _read(request)
    refusal = _refusal(request, broker, wanted)
    promise = broker.groups.consumer_heartbeat(wanted) if refusal is None else failed(refusal)

    def encode() -> bytes:
        try:
            fields = _fields(outcome(promise))
        except KafkaError as error:
            fields = {"error_code": error.code, "error_message": error.message or None, **_NOTHING}
        return encode_response(Api.CONSUMER_GROUP_HEARTBEAT, request.version, {"throttle_time": 0, **fields})

    return reply_when_done(broker, [promise], encode)


def _refusal(request: Request, broker: Broker, wanted: ConsumerHeartbeat) -> KafkaError | None:
    if not request.may(broker, Operation.READ, ResourceType.GROUP, wanted.group_id):
        return KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    for name in wanted.topic_names or ():
        if not request.may(broker, Operation.DESCRIBE, ResourceType.TOPIC, name):
            return KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, f"Not authorized to read {name}.")
    return None


def _read(request: Request) -> ConsumerHeartbeat:
    wanted = read_request(Api.CONSUMER_GROUP_HEARTBEAT, request.version, request.reader)
    owned = None
    if wanted.topic_partitions is not None:
        owned = {id_bytes(topic.topic_id): frozenset(topic.partitions) for topic in wanted.topic_partitions}
    names = wanted.subscribed_topic_names
    return ConsumerHeartbeat(
        group_id=wanted.group_id,
        member_id=wanted.member_id,
        member_epoch=wanted.member_epoch,
        instance_id=wanted.instance_id,
        rack_id=wanted.rack_id,
        rebalance_timeout_ms=milliseconds(wanted.rebalance_timeout),
        topic_names=None if names is None else tuple(names),
        topic_regex=getattr(wanted, "subscribed_topic_regex", None),
        server_assignor=wanted.server_assignor,
        owned=owned,
        client=Client(request.client_id, f"/{request.host}"),
        requires_member_id=request.version >= MEMBER_ID_REQUIRED_FROM,
    )


_NOTHING: Final[dict[str, Any]] = {
    "member_id": None,
    "member_epoch": 0,
    "heartbeat_interval": 0,
    "assignment": None,
}


def _fields(result: ConsumerHeartbeatResult) -> dict[str, Any]:
    assignment = None
    if result.assignment is not None:
        assignment = {
            "topic_partitions": [
                {"topic_id": topic_id, "partitions": sorted(indexes)}
                for topic_id, indexes in result.assignment.items()
            ]
        }
    return {
        "error_code": ErrorCode.NONE,
        "member_id": result.member_id,
        "member_epoch": result.member_epoch,
        "heartbeat_interval": result.heartbeat_interval_ms,
        "assignment": assignment,
    }
