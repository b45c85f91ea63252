"""Heartbeat, v0-v4: a member of a classic group reports that it is alive. The answer says when a rebalance
has begun."""

from __future__ import annotations

from typing import Final

from penstock.coordinator.promise import failed
from penstock.groups.messages import HeartbeatRequest
from penstock.handlers.parts import GroupParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.heartbeats import encode_heartbeat_response, read_heartbeat
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 4)
ACCESS: Final = (Access(Operation.READ, ResourceType.GROUP),)


def handle(request: Request, broker: GroupParts) -> Outcome:
    wanted = read_heartbeat(request.reader, request.version)
    if request.may(broker, Operation.READ, ResourceType.GROUP, wanted.group_id):
        beat = HeartbeatRequest(wanted.group_id, wanted.member_id, wanted.instance_id, wanted.generation_id)
        promise = broker.groups.heartbeat(beat)
    else:
        promise = failed(KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED))

    def encode() -> bytes:
        try:
            code = outcome(promise)
        except KafkaError as error:
            code = error.code
        return encode_heartbeat_response(request.version, code)

    return reply_when_done(broker, [promise], encode)
