"""InitProducerId, v0-v5: gives a producer an id and an epoch.

Without a transactional id they are new, and unique for ever, also after a crash. With one, the producer that
used the transactional id before is fenced, and its open transaction is aborted.

On purpose unlike Kafka: v6, which asks for two-phase commit by an outside coordinator (KIP-939), is not
served.
"""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import Promise, done, failed
from penstock.handlers.parts import TransactionParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.handlers.transactional import as_known_to, refused_id
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, milliseconds, read_request
from penstock.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType
from penstock.transactions.initialising import Initialise
from penstock.transactions.shard import Identity

VERSIONS: Final = (0, 5)
ACCESS: Final = (
    Access(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, when="the producer is transactional"),
    Access(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, when="it is not"),
    Access(Operation.WRITE, ResourceType.TOPIC, when="it is not: any topic will do, instead of the cluster"),
)
KNOWS_PRODUCER_FENCED_FROM: Final = 4


def handle(request: Request, broker: TransactionParts) -> Outcome:
    wanted = read_request(Api.INIT_PRODUCER_ID, request.version, request.reader)
    promise = _initialise(request, broker, wanted)

    def encode() -> bytes:
        code, identity = ErrorCode.NONE, (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
        try:
            identity = outcome(promise)
        except KafkaError as error:
            code = as_known_to(request, KNOWS_PRODUCER_FENCED_FROM, error.code)
        fields = {"throttle_time": 0, "error_code": code}
        return encode_response(
            Api.INIT_PRODUCER_ID,
            request.version,
            fields | {"producer_id": identity[0], "producer_epoch": identity[1]},
        )

    return reply_when_done(broker, [promise], encode)


def _initialise(request: Request, broker: TransactionParts, wanted: Any) -> Promise[Identity]:
    expected_id = getattr(wanted, "producer_id", NO_PRODUCER_ID)
    expected_epoch = getattr(wanted, "producer_epoch", NO_PRODUCER_EPOCH)
    transactional_id = wanted.transactional_id
    if transactional_id is None:
        if not _may_be_idempotent(request, broker):
            return failed(KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    elif (refusal := refused_id(request, broker, Operation.WRITE, transactional_id)) is not None:
        return failed(refusal)
    if (expected_id == NO_PRODUCER_ID) != (expected_epoch == NO_PRODUCER_EPOCH):
        return failed(KafkaError(ErrorCode.INVALID_REQUEST, "An expected id and its epoch come together."))
    if transactional_id is None:
        try:
            return done((broker.producer_ids.next(), 0))
        except KafkaError as error:
            return failed(error)
    timeout_ms = milliseconds(wanted.transaction_timeout)
    return broker.transactions.initialise(
        transactional_id, Initialise(timeout_ms, expected_id, expected_epoch)
    )


def _may_be_idempotent(request: Request, broker: TransactionParts) -> bool:
    """Since KIP-679 it is enough to be allowed to write to some topic."""
    return request.may_see(
        broker, Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER
    ) or broker.authorizer.authorize_any(request.principal, request.host, Operation.WRITE, ResourceType.TOPIC)
