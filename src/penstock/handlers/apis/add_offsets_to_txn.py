"""AddOffsetsToTxn, v0-v4: a producer announces that its transaction will commit offsets of a group. The
group's partition of `__consumer_offsets` is added to the transaction."""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import Promise, failed
from penstock.groups.coordinator import OFFSETS_TOPIC
from penstock.handlers.parts import CoordinatorParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.handlers.topic_creation import ensure_offsets_topic
from penstock.handlers.transactional import KNOWS_PRODUCER_FENCED_FROM, as_known_to, refused_id
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.protocol.topic_partition import TopicPartition
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType
from penstock.transactions.transaction import CLASSIC

VERSIONS: Final = (0, 4)
ACCESS: Final = (
    Access(Operation.WRITE, ResourceType.TRANSACTIONAL_ID),
    Access(Operation.READ, ResourceType.GROUP),
)


def handle(request: Request, broker: CoordinatorParts) -> Outcome:
    wanted = read_request(Api.ADD_OFFSETS_TO_TXN, request.version, request.reader)
    promise = _add(request, broker, wanted)

    def encode() -> bytes:
        code = ErrorCode.NONE
        try:
            outcome(promise)
        except KafkaError as error:
            code = as_known_to(request, KNOWS_PRODUCER_FENCED_FROM, error.code)
        fields = {"throttle_time": 0, "error_code": code}
        return encode_response(Api.ADD_OFFSETS_TO_TXN, request.version, fields)

    return reply_when_done(broker, [promise], encode)


def _add(request: Request, broker: CoordinatorParts, wanted: Any) -> Promise[Any]:
    refusal = refused_id(request, broker, Operation.WRITE, wanted.transactional_id)
    if refusal is not None:
        return failed(refusal)
    if not request.may(broker, Operation.READ, ResourceType.GROUP, wanted.group_id):
        return failed(KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    try:
        ensure_offsets_topic(broker)  # this may be the first request for any group
        place = TopicPartition(OFFSETS_TOPIC, broker.groups.shard_of(wanted.group_id))
    except KafkaError as error:
        return failed(error)
    return broker.transactions.add_or_verify(
        wanted.transactional_id,
        wanted.producer_id,
        wanted.producer_epoch,
        [place],
        verify_only=False,
        version=CLASSIC,
    )
