"""AllocateProducerIds, v0: gives a broker a block of producer ids that no other broker has or will have. On
controllers' listeners only."""

from __future__ import annotations

from typing import Final

from penstock.controller.alter_partition import check_broker
from penstock.controller.controller import Decision
from penstock.controller.image import Image
from penstock.controller.producer_ids import decide_producer_ids
from penstock.handlers.nodes_only import if_node
from penstock.handlers.parts import ControllerParts
from penstock.handlers.promised import CONTROLLER_SECONDS, decided, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import CLUSTER_ACTION

VERSIONS: Final = (0, 0)
ACCESS: Final = CLUSTER_ACTION


def handle(request: Request, broker: ControllerParts) -> Outcome:
    wanted = read_request(Api.ALLOCATE_PRODUCER_IDS, request.version, request.reader)

    def decide(image: Image) -> Decision[range]:
        check_broker(image, wanted.broker_id, wanted.broker_epoch)
        return decide_producer_ids(image, wanted.broker_id, wanted.broker_epoch)

    promise = if_node(request, broker, lambda: broker.controller.submit(decide))

    def encode() -> bytes:
        code, block = ErrorCode.NONE, range(0)
        try:
            block = decided(promise)
        except KafkaError as error:
            code = error.code
        fields = {"error_code": code, "producer_id_start": block.start, "producer_id_len": len(block)}
        return encode_response(Api.ALLOCATE_PRODUCER_IDS, request.version, {"throttle_time": 0, **fields})

    return reply_when_done(broker, [promise], encode, seconds=CONTROLLER_SECONDS)
