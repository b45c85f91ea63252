"""InitProducerId, v0-v5: an id for an idempotent producer. It is unique for ever, also after a crash.

On purpose unlike Kafka: a transactional id is refused until transactions are served.
"""

from __future__ import annotations

from typing import Final

from penstock.handlers.broker import Broker
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import encode_response, read_request

VERSIONS: Final = (0, 5)


def handle(request: Request, broker: Broker) -> Reply:
    wanted = read_request(Api.INIT_PRODUCER_ID, request.version, request.reader)
    fields = {"throttle_time": 0, "error_code": ErrorCode.NONE, "producer_id": -1, "producer_epoch": -1}
    half_known = (getattr(wanted, "producer_id", -1) == -1) != (getattr(wanted, "producer_epoch", -1) == -1)
    if wanted.transactional_id is not None or half_known:
        fields["error_code"] = ErrorCode.INVALID_REQUEST
    else:
        fields |= {"producer_id": broker.producer_ids.next(), "producer_epoch": 0}
    return Reply([encode_response(Api.INIT_PRODUCER_ID, request.version, fields)])
