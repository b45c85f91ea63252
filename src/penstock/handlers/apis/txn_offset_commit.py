"""TxnOffsetCommit, v0-v5: positions of a group that count when the transaction commits. From v5 on the
group's partition of `__consumer_offsets` is added to the transaction on the way; before, it is
verified to be in it (KIP-890)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from penstock.coordinator.decision import Producer
from penstock.coordinator.promise import Promise, done
from penstock.groups.coordinator import OFFSETS_TOPIC
from penstock.groups.messages import NO_GENERATION, UNKNOWN_MEMBER_ID, CommitIdentity
from penstock.groups.offset_records import CommittedOffset
from penstock.handlers.committed_places import (
    Errors,
    Named,
    answer_fields,
    check_place,
    named_topics,
    offsets_of,
    places_of,
)
from penstock.handlers.parts import GroupDataParts
from penstock.handlers.promised import once_done, outcome
from penstock.handlers.reply import Outcome, Reply, Wait
from penstock.handlers.request import Request
from penstock.handlers.transactional import refused_id
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.batch import NO_SEQUENCE
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 5)
ACCESS: Final = (
    Access(Operation.WRITE, ResourceType.TRANSACTIONAL_ID),
    Access(Operation.READ, ResourceType.GROUP),
    Access(Operation.READ, ResourceType.TOPIC, Refusal.EACH),
)
KNOWS_LOADING_FROM: Final = 2
KNOWS_ABORTABLE_FROM: Final = 4
ADDS_FROM: Final = 5
_OUT_OF_REACH: Final = frozenset(
    {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NETWORK_EXCEPTION}
)


def handle(request: Request, broker: GroupDataParts) -> Outcome:
    wanted = read_request(Api.TXN_OFFSET_COMMIT, request.version, request.reader)
    named = named_topics(broker, wanted)
    places = places_of(named)
    refusal = _refusal(request, broker, wanted)
    if refusal is not None:
        return Reply([_encode(request, named, dict.fromkeys(places, refusal.code))])
    errors = {place: check_place(request, broker, *place) for place in places}
    accepted = offsets_of(named, errors, broker.clock.now_ms())
    if not accepted:
        return Reply([_encode(request, named, errors)])
    attempt = _Attempt(request, broker, wanted, named, errors, accepted)
    try:
        permitted, producer = _permit(request, broker, wanted)
    except KafkaError as error:
        return attempt.refuse(error)
    return once_done(broker, permitted, lambda: attempt.commit(permitted, producer))


class _Attempt(NamedTuple):
    """What was asked for, and what has come of it so far."""

    request: Request
    broker: GroupDataParts
    wanted: Any
    named: Named
    errors: Errors
    accepted: dict[TopicPartition, CommittedOffset]

    def refuse(self, error: KafkaError) -> Reply:
        self.errors.update(dict.fromkeys(self.accepted, _known(self.request, error.code)))
        return Reply([_encode(self.request, self.named, self.errors)])

    def commit(self, permitted: Promise[dict[TopicPartition, ErrorCode]], producer: Producer) -> Reply | Wait:
        try:
            for code in outcome(permitted).values():
                if code is not ErrorCode.NONE:
                    raise KafkaError(code)
        except KafkaError as error:
            # It is the transaction's coordinator that is out of reach, not the group's, which was asked.
            elsewhere = error.code in _OUT_OF_REACH
            return self.refuse(KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) if elsewhere else error)
        committed = self.broker.groups.commit(
            self.wanted.group_id, _identity(self.request, self.wanted), self.accepted, producer
        )
        return once_done(self.broker, committed, lambda: self.answer(committed))

    def answer(self, committed: Promise[Errors]) -> Reply:
        try:
            decided = outcome(committed)
        except KafkaError as error:
            return self.refuse(error)
        self.errors.update(decided)
        return Reply([_encode(self.request, self.named, self.errors)])


def _refusal(request: Request, broker: GroupDataParts, wanted: Any) -> KafkaError | None:
    if not request.may(broker, Operation.READ, ResourceType.GROUP, wanted.group_id):
        return KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    return refused_id(request, broker, Operation.WRITE, wanted.transactional_id)


def _permit(
    request: Request, broker: GroupDataParts, wanted: Any
) -> tuple[Promise[dict[TopicPartition, ErrorCode]], Producer]:
    """The transaction has, or gets, the partition to which the offsets will be written. The guard makes sure
    that it does not end between the answer and the write."""
    adds = request.version >= ADDS_FROM
    place = TopicPartition(OFFSETS_TOPIC, broker.groups.shard_of(wanted.group_id))
    guard = broker.partitions.get(*place).begin_verification(
        wanted.producer_id, wanted.producer_epoch, NO_SEQUENCE, epoch_bump=adds
    )
    producer = Producer(wanted.producer_id, wanted.producer_epoch, guard)
    if guard is None or not (adds or broker.settings.transaction_partition_verification_enable):
        return done({}), producer
    return broker.verifier.add_or_verify(
        wanted.transactional_id, wanted.producer_id, wanted.producer_epoch, [place], verify_only=not adds
    ), producer


def _identity(request: Request, wanted: Any) -> CommitIdentity:
    return CommitIdentity(
        getattr(wanted, "member_id", UNKNOWN_MEMBER_ID),
        getattr(wanted, "group_instance_id", None),
        getattr(wanted, "generation_id", NO_GENERATION),
        request.version,
    )


def _known(request: Request, code: ErrorCode) -> ErrorCode:
    """As the version of the client can understand it."""
    if code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR):
        return ErrorCode.NOT_COORDINATOR
    if code is ErrorCode.TRANSACTION_ABORTABLE and request.version < KNOWS_ABORTABLE_FROM:
        return ErrorCode.INVALID_TXN_STATE
    if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and request.version < KNOWS_LOADING_FROM:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return code


def _encode(request: Request, named: Named, errors: Errors) -> bytes:
    return encode_response(Api.TXN_OFFSET_COMMIT, request.version, answer_fields(named, errors))
