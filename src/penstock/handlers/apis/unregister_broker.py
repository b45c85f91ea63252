"""UnregisterBroker, v0: removes the registration of a broker that will not come back.

As in Kafka, a broker that is alive is removed, too; it registers again.
"""

from __future__ import annotations

from typing import Final

from penstock.coordinator.promise import Promise, failed
from penstock.handlers.parts import ControllerParts
from penstock.handlers.promised import CONTROLLER_SECONDS, decided, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 0)
ACCESS: Final = (Access(Operation.ALTER, ResourceType.CLUSTER),)


def handle(request: Request, broker: ControllerParts) -> Outcome:
    wanted = read_request(Api.UNREGISTER_BROKER, request.version, request.reader)
    if request.may(broker, Operation.ALTER, ResourceType.CLUSTER):
        promise: Promise[None] = broker.membership.unregister(wanted.broker_id)
    else:
        promise = failed(KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."))

    def encode() -> bytes:
        code, message = ErrorCode.NONE, None
        try:
            decided(promise)
        except KafkaError as error:
            code, message = error.code, error.message
        fields = {"throttle_time": 0, "error_code": code, "error_message": message}
        return encode_response(Api.UNREGISTER_BROKER, request.version, fields)

    return reply_when_done(broker, [promise], encode, seconds=CONTROLLER_SECONDS)
