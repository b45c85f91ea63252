"""LeaveGroup, v0-v5: members leave a classic group. From v3 on several may leave at once, and static
members are named by their instance id alone."""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import failed
from penstock.groups.messages import Leaver, LeaveResult
from penstock.handlers.parts import GroupParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 5)
ACCESS: Final = (Access(Operation.READ, ResourceType.GROUP),)
BATCHED_FROM: Final = 3


def handle(request: Request, broker: GroupParts) -> Outcome:
    wanted = read_request(Api.LEAVE_GROUP, request.version, request.reader)
    leavers = _leavers(request.version, wanted)
    if request.may(broker, Operation.READ, ResourceType.GROUP, wanted.group_id):
        promise = broker.groups.leave(wanted.group_id, leavers)
    else:
        promise = failed(KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED))

    def encode() -> bytes:
        try:
            return _encode(request.version, ErrorCode.NONE, outcome(promise))
        except KafkaError as error:
            if error.code is ErrorCode.UNKNOWN_MEMBER_ID:  # there is no such group: each member is unknown
                unknown = [
                    LeaveResult(leaver.member_id, leaver.instance_id, error.code) for leaver in leavers
                ]
                return _encode(request.version, ErrorCode.NONE, unknown)
            return _encode(request.version, error.code, [])

    return reply_when_done(broker, [promise], encode)


def _leavers(version: int, wanted: Any) -> tuple[Leaver, ...]:
    if version < BATCHED_FROM:
        return (Leaver(wanted.member_id, None),)
    return tuple(Leaver(member.member_id, member.group_instance_id) for member in wanted.members)


def _encode(version: int, error: ErrorCode, results: list[LeaveResult]) -> bytes:
    if version < BATCHED_FROM and error is ErrorCode.NONE:
        error = results[0].error
    members = [
        {"member_id": result.member_id, "group_instance_id": result.instance_id, "error_code": result.error}
        for result in results
    ]
    fields = {"throttle_time": 0, "error_code": error, "members": members}
    return encode_response(Api.LEAVE_GROUP, version, fields)
