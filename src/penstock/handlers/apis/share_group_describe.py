"""ShareGroupDescribe, v1: share groups with their members and what each reads."""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import Promise, failed
from penstock.groups.messages import DescribedShareGroup, DescribedShareMember
from penstock.handlers.parts import GroupParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.protocol.metadata import OPERATIONS_NOT_ASKED
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (1, 1)
ACCESS: Final = (
    Access(Operation.DESCRIBE, ResourceType.GROUP, Refusal.EACH),
    Access(Operation.DESCRIBE, ResourceType.TOPIC, Refusal.EACH, when="members have topics"),
)


def handle(request: Request, broker: GroupParts) -> Outcome:
    wanted = read_request(Api.SHARE_GROUP_DESCRIBE, request.version, request.reader)
    promises = {
        group_id: broker.groups.describe_share(group_id)
        if request.may(broker, Operation.DESCRIBE, ResourceType.GROUP, group_id)
        else failed(KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED))
        for group_id in wanted.group_ids
    }

    def encode() -> bytes:
        rows = [_row(request, broker, group_id, promise) for group_id, promise in promises.items()]
        if wanted.include_authorized_operations:
            for row in (row for row in rows if row["error_code"] is ErrorCode.NONE):
                row["authorized_operations"] = request.operations(broker, ResourceType.GROUP, row["group_id"])
        return encode_response(
            Api.SHARE_GROUP_DESCRIBE, request.version, {"throttle_time": 0, "groups": rows}
        )

    return reply_when_done(broker, promises.values(), encode)


def _row(
    request: Request, broker: GroupParts, group_id: str, promise: Promise[DescribedShareGroup]
) -> dict[str, Any]:
    code, message = ErrorCode.NONE, None
    try:
        group = outcome(promise)
        _check_topics(request, broker, group)
    except KafkaError as error:
        code, message = error.code, error.message
        group = DescribedShareGroup(group_id, "", 0, 0, "", ())
    return {
        "error_code": code,
        "error_message": message,
        "group_id": group_id,
        "group_state": group.state,
        "group_epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "assignor_name": group.assignor,
        "members": [_member(broker, member) for member in group.members],
        "authorized_operations": OPERATIONS_NOT_ASKED,
    }


def _check_topics(request: Request, broker: GroupParts, group: DescribedShareGroup) -> None:
    """A group is hidden when one of its topics may not be described."""
    names = broker.controller.image.names
    topics = {names[id_] for member in group.members for id_ in member.assigned if id_ in names}
    if not all(request.may(broker, Operation.DESCRIBE, ResourceType.TOPIC, name) for name in sorted(topics)):
        raise KafkaError(
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            "The group has described topic(s) that the client is not authorized to describe.",
        )


def _member(broker: GroupParts, member: DescribedShareMember) -> dict[str, Any]:
    names = broker.controller.image.names
    topics = [
        {"topic_id": topic_id, "topic_name": names[topic_id], "partitions": tuple(sorted(indexes))}
        for topic_id, indexes in member.assigned.items()
        if topic_id in names
    ]
    return {
        "member_id": member.member_id,
        "rack_id": member.rack_id,
        "member_epoch": member.member_epoch,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "subscribed_topic_names": member.topic_names,
        "assignment": {"topic_partitions": topics},
    }
