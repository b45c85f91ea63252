"""JoinGroup, v0-v9: a member joins a classic group, or its next generation. The answer goes out when all
members have joined."""

from __future__ import annotations

from typing import Final

from penstock.coordinator.promise import done
from penstock.groups.messages import Client, JoinRequest, JoinResult
from penstock.handlers.parts import GroupParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, milliseconds, read_request
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 9)
ACCESS: Final = (Access(Operation.READ, ResourceType.GROUP),)
MEMBER_ID_REQUIRED_FROM: Final = 4
NULLABLE_PROTOCOL_FROM: Final = 7
SKIP_ASSIGNMENT_FROM: Final = 9
LONGEST_WAIT_SECONDS: Final = 7 * 24 * 3600.0
"""The group's own timers answer long before this."""


def handle(request: Request, broker: GroupParts) -> Outcome:
    wanted = _read(request)
    if request.may(broker, Operation.READ, ResourceType.GROUP, wanted.group_id):
        promise = broker.groups.join(wanted)
    else:
        promise = done(JoinResult(ErrorCode.GROUP_AUTHORIZATION_FAILED, wanted.member_id))

    def encode() -> bytes:
        try:
            return _encode(request.version, outcome(promise))
        except KafkaError as error:
            return _encode(request.version, JoinResult(error.code, wanted.member_id))

    return reply_when_done(broker, [promise], encode, seconds=LONGEST_WAIT_SECONDS)


def _read(request: Request) -> JoinRequest:
    wanted = read_request(Api.JOIN_GROUP, request.version, request.reader)
    session_timeout_ms = milliseconds(wanted.session_timeout)
    return JoinRequest(
        group_id=wanted.group_id,
        member_id=wanted.member_id,
        instance_id=getattr(wanted, "group_instance_id", None),
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=milliseconds(getattr(wanted, "rebalance_timeout", session_timeout_ms)),
        protocol_type=wanted.protocol_type,
        protocols=tuple((protocol.name, protocol.metadata) for protocol in wanted.protocols),
        client=Client(request.client_id, f"/{request.host}"),
        requires_known_member_id=request.version >= MEMBER_ID_REQUIRED_FROM,
        supports_skipping_assignment=request.version >= SKIP_ASSIGNMENT_FROM,
    )


def _encode(version: int, result: JoinResult) -> bytes:
    name = result.protocol_name
    fields = {
        "throttle_time": 0,
        "error_code": result.error,
        "generation_id": result.generation_id,
        "protocol_type": result.protocol_type,
        "protocol_name": name if version >= NULLABLE_PROTOCOL_FROM else name or "",
        "leader": result.leader,
        "skip_assignment": result.skip_assignment,
        "member_id": result.member_id,
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.instance_id,
                "metadata": member.metadata,
            }
            for member in result.members
        ],
    }
    return encode_response(Api.JOIN_GROUP, version, fields)
