"""OffsetCommit, v2-v10: stores offsets of a group, sent by a member or by a client outside the group. From
v10 on topics are named by id. The offsets are committed in `__consumer_offsets` before the answer goes
out."""

from __future__ import annotations

from typing import Final

from penstock.groups.messages import CommitIdentity
from penstock.handlers.committed_places import (
    DEFAULT_RETENTION,
    Errors,
    Named,
    answer_fields,
    check_place,
    named_topics,
    offsets_of,
    places_of,
)
from penstock.handlers.parts import GroupParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome, Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, milliseconds, read_request
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (2, 10)
ACCESS: Final = (
    Access(Operation.READ, ResourceType.GROUP),
    Access(Operation.READ, ResourceType.TOPIC, Refusal.EACH),
)


def handle(request: Request, broker: GroupParts) -> Outcome:
    wanted = read_request(Api.OFFSET_COMMIT, request.version, request.reader)
    named = named_topics(broker, wanted)
    places = places_of(named)
    if not request.may(broker, Operation.READ, ResourceType.GROUP, wanted.group_id):
        refused = dict.fromkeys(places, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        return Reply([_encode(request, named, refused)])
    errors = {place: check_place(request, broker, *place) for place in places}
    retention_ms = milliseconds(getattr(wanted, "retention_time", DEFAULT_RETENTION))
    accepted = offsets_of(named, errors, broker.clock.now_ms(), retention_ms)
    if places and not accepted:
        return Reply([_encode(request, named, errors)])
    identity = CommitIdentity(
        wanted.member_id,
        getattr(wanted, "group_instance_id", None),
        wanted.generation_id_or_member_epoch,
        request.version,
    )
    promise = broker.groups.commit(wanted.group_id, identity, accepted)

    def encode() -> bytes:
        try:
            decided = outcome(promise)
            errors.update(decided)
        except KafkaError as error:
            errors.update(dict.fromkeys(accepted, error.code))
        return _encode(request, named, errors)

    return reply_when_done(broker, [promise], encode)


def _encode(request: Request, named: Named, errors: Errors) -> bytes:
    return encode_response(Api.OFFSET_COMMIT, request.version, answer_fields(named, errors))
