"""BrokerRegistration, v0-v4: the process of a broker registers with the active controller, which gives it an
epoch. On controllers' listeners only."""

from __future__ import annotations

from typing import Final

from penstock.controller.broker_records import Endpoint
from penstock.controller.brokers import Registration
from penstock.handlers.nodes_only import if_node
from penstock.handlers.parts import ControllerParts
from penstock.handlers.promised import CONTROLLER_SECONDS, decided, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, id_bytes, read_request
from penstock.security.access import CLUSTER_ACTION

VERSIONS: Final = (0, 4)
ACCESS: Final = CLUSTER_ACTION


def handle(request: Request, broker: ControllerParts) -> Outcome:
    wanted = read_request(Api.BROKER_REGISTRATION, request.version, request.reader)
    wish = Registration(
        wanted.broker_id,
        wanted.cluster_id,
        id_bytes(wanted.incarnation_id),
        tuple(Endpoint(item.name, item.host, item.port, item.security_protocol) for item in wanted.listeners),
        wanted.rack,
        getattr(wanted, "previous_broker_epoch", -1),
        tuple(id_bytes(directory) for directory in getattr(wanted, "log_dirs", ())),
    )
    promise = if_node(request, broker, lambda: broker.membership.register(wish))

    def encode() -> bytes:
        code, epoch = ErrorCode.NONE, -1
        try:
            epoch = decided(promise)
        except KafkaError as error:
            code = error.code
        fields = {"throttle_time": 0, "error_code": code, "broker_epoch": epoch}
        return encode_response(Api.BROKER_REGISTRATION, request.version, fields)

    return reply_when_done(broker, [promise], encode, seconds=CONTROLLER_SECONDS)
