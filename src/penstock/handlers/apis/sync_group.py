"""SyncGroup, v0-v5: the leader of a classic group sends the assignment of a generation, and each member
fetches its own part."""

from __future__ import annotations

from typing import Final

from penstock.coordinator.promise import done
from penstock.groups.messages import SyncRequest, SyncResult
from penstock.handlers.apis.join_group import LONGEST_WAIT_SECONDS
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
PROTOCOL_REQUIRED_FROM: Final = 5


def handle(request: Request, broker: GroupParts) -> Outcome:
    wanted = _read(request)
    if not request.may(broker, Operation.READ, ResourceType.GROUP, wanted.group_id):
        promise = done(SyncResult(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    elif request.version >= PROTOCOL_REQUIRED_FROM and None in (wanted.protocol_type, wanted.protocol_name):
        promise = done(SyncResult(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
    else:
        promise = broker.groups.sync(wanted)

    def encode() -> bytes:
        try:
            return _encode(request.version, outcome(promise))
        except KafkaError as error:
            return _encode(request.version, SyncResult(error.code))

    return reply_when_done(broker, [promise], encode, seconds=LONGEST_WAIT_SECONDS)


def _read(request: Request) -> SyncRequest:
    wanted = read_request(Api.SYNC_GROUP, request.version, request.reader)
    return SyncRequest(
        group_id=wanted.group_id,
        member_id=wanted.member_id,
        instance_id=getattr(wanted, "group_instance_id", None),
        generation_id=wanted.generation_id,
        protocol_type=getattr(wanted, "protocol_type", None),
        protocol_name=getattr(wanted, "protocol_name", None),
        assignments={given.member_id: given.assignment for given in wanted.assignments},
    )


def _encode(version: int, result: SyncResult) -> bytes:
    fields = {
        "throttle_time": 0,
        "error_code": result.error,
        "protocol_type": result.protocol_type,
        "protocol_name": result.protocol_name,
        "assignment": result.assignment,
    }
    return encode_response(Api.SYNC_GROUP, version, fields)
