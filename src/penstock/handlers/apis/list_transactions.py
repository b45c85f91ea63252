"""ListTransactions, v0-v2: the transactional ids that this broker coordinates, chosen by state and producer
id.

From v1 on a client may also choose them by how long a transaction has been open, from v2 on by a pattern
of their names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.coordinator.promise import Promise
from penstock.coordinator.regexes import matcher
from penstock.handlers.parts import TransactionParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType
from penstock.transactions.transaction import State, Transaction

VERSIONS: Final = (0, 2)
ACCESS: Final = (Access(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, Refusal.HIDDEN),)
EVERY_DURATION: Final = -1

_TITLES: Final = {state.title: state for state in State}


def handle(request: Request, broker: TransactionParts) -> Outcome:
    wanted = read_request(Api.LIST_TRANSACTIONS, request.version, request.reader)
    promises: list[Promise[list[Transaction]]] = []
    refused: KafkaError | None = None
    try:
        is_wanted = _filter(wanted, broker.clock.now_ms())
        promises = broker.transactions.all()
    except KafkaError as error:
        refused = error

    def encode() -> bytes:
        code, rows = ErrorCode.NONE, []
        try:
            if refused is not None:
                raise refused
            listed = [transaction for promise in promises for transaction in outcome(promise)]
            rows = [_row(one) for one in listed if is_wanted(one) and _may_see(request, broker, one)]
        except KafkaError as error:
            code = error.code
        unknown = [title for title in wanted.state_filters if title not in _TITLES]
        fields = {"error_code": code, "unknown_state_filters": unknown, "transaction_states": rows}
        return encode_response(Api.LIST_TRANSACTIONS, request.version, {"throttle_time": 0, **fields})

    return reply_when_done(broker, promises, encode)


def _filter(wanted: Any, now_ms: int) -> Callable[[Transaction], bool]:
    """Raises KafkaError when the pattern is not a regular expression."""
    duration_ms = getattr(wanted, "duration_filter", EVERY_DURATION)
    pattern = getattr(wanted, "transactional_id_pattern", None)
    matches = matcher(pattern, "TransactionalIdPattern") if pattern else None

    def is_wanted(one: Transaction) -> bool:
        return (
            (not wanted.producer_id_filters or one.producer_id in wanted.producer_id_filters)
            and (not wanted.state_filters or one.state.title in wanted.state_filters)
            and (duration_ms < 0 or now_ms - one.start_ms > duration_ms)
            and (matches is None or matches(one.transactional_id))
        )

    return is_wanted


def _may_see(request: Request, broker: TransactionParts, one: Transaction) -> bool:
    return request.may_see(broker, Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, one.transactional_id)


def _row(one: Transaction) -> dict[str, Any]:
    return {
        "transactional_id": one.transactional_id,
        "producer_id": one.producer_id,
        "transaction_state": one.state.title,
    }
