"""BrokerHeartbeat, v0-v1: a broker reports that it is alive and which of its log directories have failed. The
answer says whether it is fenced and whether it may stop. On controllers' listeners only."""

from __future__ import annotations

from typing import Final

from penstock.controller.brokers import Heartbeat, HeartbeatAnswer
from penstock.handlers.nodes_only import if_node
from penstock.handlers.parts import ControllerParts
from penstock.handlers.promised import CONTROLLER_SECONDS, decided, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, id_bytes, read_request
from penstock.security.access import CLUSTER_ACTION

VERSIONS: Final = (0, 1)
ACCESS: Final = CLUSTER_ACTION
_NOTHING: Final = HeartbeatAnswer(fenced=True, caught_up=False, may_stop=False)


def handle(request: Request, broker: ControllerParts) -> Outcome:
    wanted = read_request(Api.BROKER_HEARTBEAT, request.version, request.reader)
    beat = Heartbeat(
        wanted.broker_id,
        wanted.broker_epoch,
        wanted.current_metadata_offset,
        wanted.want_fence,
        wanted.want_shut_down,
        frozenset(id_bytes(directory) for directory in getattr(wanted, "offline_log_dirs", ())),
    )
    promise = if_node(request, broker, lambda: broker.membership.heartbeat(beat))

    def encode() -> bytes:
        code, told = ErrorCode.NONE, _NOTHING
        try:
            told = decided(promise)
        except KafkaError as error:
            code = error.code
        fields = {
            "throttle_time": 0,
            "error_code": code,
            "is_caught_up": told.caught_up,
            "is_fenced": told.fenced,
            "should_shut_down": told.may_stop,
        }
        return encode_response(Api.BROKER_HEARTBEAT, request.version, fields)

    return reply_when_done(broker, [promise], encode, seconds=CONTROLLER_SECONDS)
