"""AddPartitionsToTxn, v0-v5: adds partitions to transactions, or verifies that they belong to them.

Up to v3 a client adds partitions to its own transaction. From v4 on brokers send the request, for many
transactions at once (KIP-890).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from penstock.controller.topics import INTERNAL_TOPICS
from penstock.coordinator.promise import Promise, done, failed
from penstock.handlers.parts import TransactionParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome, Reply
from penstock.handlers.request import Request
from penstock.handlers.transactional import KNOWS_PRODUCER_FENCED_FROM, as_known_to, refused_id
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.protocol.topic_partition import TopicPartition
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType
from penstock.transactions.transaction import CLASSIC, EPOCH_PER_TRANSACTION

VERSIONS: Final = (0, 5)
ACCESS: Final = (
    Access(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, Refusal.EACH, when="a client asks"),
    Access(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, when="a broker asks"),
    Access(Operation.WRITE, ResourceType.TOPIC, Refusal.EACH),
)
BATCHED_FROM: Final = 4


class _Wanted(NamedTuple):
    """One transaction of a request. The names of the fields differ between versions; these do not."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    topics: Any
    verify_only: bool = False

    @property
    def partitions(self) -> list[TopicPartition]:
        return [TopicPartition(topic.name, index) for topic in self.topics for index in topic.partitions]


def handle(request: Request, broker: TransactionParts) -> Outcome:
    body = read_request(Api.ADD_PARTITIONS_TO_TXN, request.version, request.reader)
    from_broker = request.version >= BATCHED_FROM
    if from_broker and not request.may(broker, Operation.CLUSTER_ACTION, ResourceType.CLUSTER):
        refused = {"error_code": ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "results_by_transaction": ()}
        return Reply([_encode(request, refused)])
    asked = [(wanted, _ask(request, broker, wanted)) for wanted in _transactions(body, from_broker)]

    def encode() -> bytes:
        results = [
            {
                "transactional_id": wanted.transactional_id,
                "topic_results": _topics(wanted, _errors(request, wanted, promise)),
            }
            for wanted, promise in asked
        ]
        if from_broker:
            return _encode(request, {"error_code": ErrorCode.NONE, "results_by_transaction": results})
        return _encode(request, {"results_by_topic_v3_and_below": results[0]["topic_results"]})

    return reply_when_done(broker, [promise for _, promise in asked], encode)


def _transactions(body: Any, batched: bool) -> list[_Wanted]:
    if not batched:
        return [
            _Wanted(
                body.v3_and_below_transactional_id,
                body.v3_and_below_producer_id,
                body.v3_and_below_producer_epoch,
                body.v3_and_below_topics,
            )
        ]
    return [
        _Wanted(each.transactional_id, each.producer_id, each.producer_epoch, each.topics, each.verify_only)
        for each in body.transactions
    ]


def _ask(
    request: Request, broker: TransactionParts, wanted: _Wanted
) -> Promise[dict[TopicPartition, ErrorCode]]:
    from_client = request.version < BATCHED_FROM
    if from_client:
        refusal = refused_id(request, broker, Operation.WRITE, wanted.transactional_id)
        if refusal is not None:
            return failed(refusal)
    refused = {place: _check(request, broker, from_client, *place) for place in wanted.partitions}
    if any(code is not ErrorCode.NONE for code in refused.values()):
        # One partition that cannot be added refuses the whole request. The others get a code that says so.
        not_tried = ErrorCode.OPERATION_NOT_ATTEMPTED
        return done({place: not_tried if code is ErrorCode.NONE else code for place, code in refused.items()})
    return broker.transactions.add_or_verify(
        wanted.transactional_id,
        wanted.producer_id,
        wanted.producer_epoch,
        wanted.partitions,
        verify_only=wanted.verify_only,
        version=CLASSIC if from_client else EPOCH_PER_TRANSACTION,
    )


def _check(
    request: Request, broker: TransactionParts, from_client: bool, topic: str, index: int
) -> ErrorCode:
    if from_client and (
        topic in INTERNAL_TOPICS or not request.may(broker, Operation.WRITE, ResourceType.TOPIC, topic)
    ):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    state = broker.controller.image.topics.get(topic)
    if state is None or not 0 <= index < len(state.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def _errors(
    request: Request, wanted: _Wanted, promise: Promise[dict[TopicPartition, ErrorCode]]
) -> Mapping[TopicPartition, ErrorCode]:
    try:
        return outcome(promise)
    except KafkaError as error:
        code = as_known_to(request, KNOWS_PRODUCER_FENCED_FROM, error.code)
        return dict.fromkeys(wanted.partitions, code)


def _topics(wanted: _Wanted, errors: Mapping[TopicPartition, ErrorCode]) -> list[dict[str, Any]]:
    return [
        {
            "name": topic.name,
            "results_by_partition": [
                {"partition_index": index, "partition_error_code": errors[TopicPartition(topic.name, index)]}
                for index in topic.partitions
            ],
        }
        for topic in wanted.topics
    ]


def _encode(request: Request, fields: Mapping[str, Any]) -> bytes:
    return encode_response(
        Api.ADD_PARTITIONS_TO_TXN, request.version, {"throttle_time": 0, "error_code": 0, **fields}
    )
