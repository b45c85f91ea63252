"""DescribeGroups, v0-v6: classic groups with their members. ConsumerGroupDescribe describes groups of the
consumer protocol."""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import failed
from penstock.groups.messages import DescribedGroup
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

VERSIONS: Final = (0, 6)
ACCESS: Final = (Access(Operation.DESCRIBE, ResourceType.GROUP, Refusal.EACH),)
NOT_FOUND_FROM: Final = 6
"""Before, a group that is not there was described as `Dead`, without an error."""


def handle(request: Request, broker: GroupParts) -> Outcome:
    wanted = read_request(Api.DESCRIBE_GROUPS, request.version, request.reader)
    show_operations = getattr(wanted, "include_authorized_operations", False)
    promises = {
        group_id: broker.groups.describe_classic(group_id)
        if request.may(broker, Operation.DESCRIBE, ResourceType.GROUP, group_id)
        else failed(KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED))
        for group_id in wanted.groups
    }

    def encode() -> bytes:
        rows = []
        for group_id, promise in promises.items():
            try:
                described = outcome(promise)
            except KafkaError as error:
                described = _absent(request.version, group_id, error)
            row = _row(described)
            if show_operations and described.error is ErrorCode.NONE:
                row["authorized_operations"] = request.operations(broker, ResourceType.GROUP, group_id)
            rows.append(row)
        return encode_response(Api.DESCRIBE_GROUPS, request.version, {"throttle_time": 0, "groups": rows})

    return reply_when_done(broker, promises.values(), encode)


def _absent(version: int, group_id: str, error: KafkaError) -> DescribedGroup:
    if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
        return DescribedGroup(group_id, "", error=error.code)
    if version < NOT_FOUND_FROM:
        return DescribedGroup(group_id, "Dead")
    return DescribedGroup(group_id, "Dead", error=error.code, error_message=error.message)


def _row(group: DescribedGroup) -> dict[str, Any]:
    return {
        "error_code": group.error,
        "error_message": group.error_message,
        "group_id": group.group_id,
        "group_state": group.state,
        "protocol_type": group.protocol_type,
        "protocol_data": group.protocol,
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.instance_id,
                "client_id": member.client_id,
                "client_host": member.client_host,
                "member_metadata": member.metadata,
                "member_assignment": member.assignment,
            }
            for member in group.members
        ],
        "authorized_operations": OPERATIONS_NOT_ASKED,
    }
