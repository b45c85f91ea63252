"""ConsumerGroupDescribe, v0-v1: groups of the consumer protocol with their members, their assignments and
their targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.coordinator.promise import Promise, failed
from penstock.groups.messages import DescribedConsumer, DescribedConsumerGroup
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

VERSIONS: Final = (0, 1)
ACCESS: Final = (
    Access(Operation.DESCRIBE, ResourceType.GROUP, Refusal.EACH),
    Access(Operation.DESCRIBE, ResourceType.TOPIC, Refusal.EACH, when="members have topics"),
)
CLASSIC_MEMBER: Final = 0
CONSUMER_MEMBER: Final = 1


def handle(request: Request, broker: GroupParts) -> Outcome:
    wanted = read_request(Api.CONSUMER_GROUP_DESCRIBE, request.version, request.reader)
    promises = {
        group_id: broker.groups.describe_consumer(group_id)
        if request.may(broker, Operation.DESCRIBE, ResourceType.GROUP, group_id)
        else failed(KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED))
        for group_id in wanted.group_ids
    }

    def encode() -> bytes:
        rows = [_row(broker, group_id, promise) for group_id, promise in promises.items()]
        rows = [row if _may_see_topics(request, broker, row) else _hidden(row) for row in rows]
        if wanted.include_authorized_operations:
            for row in (row for row in rows if row["error_code"] is ErrorCode.NONE):
                row["authorized_operations"] = request.operations(broker, ResourceType.GROUP, row["group_id"])
        fields = {"throttle_time": 0, "groups": rows}
        return encode_response(Api.CONSUMER_GROUP_DESCRIBE, request.version, fields)

    return reply_when_done(broker, promises.values(), encode)


def _row(broker: GroupParts, group_id: str, promise: Promise[DescribedConsumerGroup]) -> dict[str, Any]:
    code, message = ErrorCode.NONE, None
    try:
        group = outcome(promise)
    except KafkaError as error:
        code, message = error.code, error.message
        group = DescribedConsumerGroup(group_id, "", 0, 0, "", ())
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


def _may_see_topics(request: Request, broker: GroupParts, row: dict[str, Any]) -> bool:
    """Whether every topic that a member has may be described."""
    names = {
        topic["topic_name"]
        for member in row["members"]
        for assignment in (member["assignment"], member["target_assignment"])
        for topic in assignment["topic_partitions"]
    }
    return all(request.may(broker, Operation.DESCRIBE, ResourceType.TOPIC, name) for name in sorted(names))


def _hidden(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "error_code": ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        "error_message": "The group has described topic(s) that the client is not authorized to describe.",
        "group_state": "",
        "group_epoch": 0,
        "assignment_epoch": 0,
        "assignor_name": "",
        "members": (),
    }


def _member(broker: GroupParts, member: DescribedConsumer) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "member_epoch": member.member_epoch,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "subscribed_topic_names": member.topic_names,
        "subscribed_topic_regex": member.topic_regex,
        "assignment": _assignment(broker, member.assigned),
        "target_assignment": _assignment(broker, member.target),
        "member_type": CLASSIC_MEMBER if member.is_classic else CONSUMER_MEMBER,
    }


def _assignment(broker: GroupParts, assignment: Mapping[bytes, frozenset[int]]) -> dict[str, Any]:
    """A topic that was deleted meanwhile has no name, and is left out."""
    names = broker.controller.image.names
    return {
        "topic_partitions": [
            {"topic_id": topic_id, "topic_name": names[topic_id], "partitions": sorted(indexes)}
            for topic_id, indexes in assignment.items()
            if topic_id in names
        ]
    }
