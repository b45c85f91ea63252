"""DescribeTransactions, v0: the state of transactional ids, with the partitions of open transactions."""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import Promise, failed
from penstock.handlers.parts import TransactionParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.handlers.transactional import refused_id
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType
from penstock.transactions.transaction import NO_TIME, Transaction
from penstock.transactions.transaction_records import by_topic

VERSIONS: Final = (0, 0)
ACCESS: Final = (
    Access(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, Refusal.EACH),
    Access(Operation.DESCRIBE, ResourceType.TOPIC, Refusal.HIDDEN),
)

_UNKNOWN: Final[dict[str, Any]] = {
    "transaction_state": "",
    "transaction_timeout": 0,
    "transaction_start_time": NO_TIME,
    "producer_id": NO_PRODUCER_ID,
    "producer_epoch": NO_PRODUCER_EPOCH,
    "topics": (),
}


def handle(request: Request, broker: TransactionParts) -> Outcome:
    wanted = read_request(Api.DESCRIBE_TRANSACTIONS, request.version, request.reader)
    asked = [(name, _ask(request, broker, name)) for name in wanted.transactional_ids]

    def encode() -> bytes:
        states = [_row(request, broker, name, promise) for name, promise in asked]
        fields = {"throttle_time": 0, "transaction_states": states}
        return encode_response(Api.DESCRIBE_TRANSACTIONS, request.version, fields)

    return reply_when_done(broker, [promise for _, promise in asked], encode)


def _ask(request: Request, broker: TransactionParts, transactional_id: str) -> Promise[Transaction]:
    refusal = refused_id(request, broker, Operation.DESCRIBE, transactional_id)
    return broker.transactions.describe(transactional_id) if refusal is None else failed(refusal)


def _row(
    request: Request, broker: TransactionParts, transactional_id: str, promise: Promise[Transaction]
) -> dict[str, Any]:
    row = {"transactional_id": transactional_id, "error_code": ErrorCode.NONE}
    try:
        found = outcome(promise)
    except KafkaError as error:
        return {**row, **_UNKNOWN, "error_code": error.code}
    return {
        **row,
        "transaction_state": found.state.title,
        "transaction_timeout": found.timeout_ms,
        "transaction_start_time": found.start_ms,
        "producer_id": found.producer_id,
        "producer_epoch": found.producer_epoch,
        "topics": [
            {"topic": topic, "partitions": indexes}
            for topic, indexes in by_topic(found.partitions).items()
            if request.may(broker, Operation.DESCRIBE, ResourceType.TOPIC, topic)
        ],
    }
