"""EndTxn, v0-v5: commits or aborts a transaction. From v5 on (KIP-890) the answer has the producer id and
epoch of the next transaction, and a repeated request is recognised by its epoch."""

from __future__ import annotations

from typing import Final

from penstock.coordinator.promise import Promise, failed
from penstock.handlers.parts import TransactionParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.handlers.transactional import KNOWS_PRODUCER_FENCED_FROM, as_known_to, refused_id
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType
from penstock.transactions.shard import Identity
from penstock.transactions.transaction import CLASSIC, EPOCH_PER_TRANSACTION

VERSIONS: Final = (0, 5)
ACCESS: Final = (Access(Operation.WRITE, ResourceType.TRANSACTIONAL_ID),)
RAISES_EPOCH_FROM: Final = 5


def handle(request: Request, broker: TransactionParts) -> Outcome:
    wanted = read_request(Api.END_TXN, request.version, request.reader)
    raises_epoch = request.version >= RAISES_EPOCH_FROM
    refusal = refused_id(request, broker, Operation.WRITE, wanted.transactional_id)
    if refusal is not None:
        promise: Promise[Identity] = failed(refusal)
    else:
        promise = broker.transactions.end(
            wanted.transactional_id,
            wanted.producer_id,
            wanted.producer_epoch,
            commit=wanted.committed,
            version=EPOCH_PER_TRANSACTION if raises_epoch else CLASSIC,
        )

    def encode() -> bytes:
        code, identity = ErrorCode.NONE, (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
        try:
            identity = outcome(promise)
        except KafkaError as error:
            code = as_known_to(request, KNOWS_PRODUCER_FENCED_FROM, error.code)
        told = {"producer_id": identity[0], "producer_epoch": identity[1]}
        fields = {"throttle_time": 0, "error_code": code, **told}
        return encode_response(Api.END_TXN, request.version, fields)

    return reply_when_done(broker, [promise], encode)
