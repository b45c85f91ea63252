"""ShareAcknowledge, v1-v2: a member of a share group says what became of its records. From v2 on it may renew
its lock on them."""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import Promise
from penstock.handlers.leader_hints import current_leader, leaders_reached
from penstock.handlers.parts import ShareDataParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome, Reply
from penstock.handlers.request import Request
from penstock.handlers.sharing.acknowledging import Said, acknowledge, release, said
from penstock.handlers.sharing.answers import NO_LEADER, leader_of, node_rows
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType
from penstock.share.sessions import FINAL_EPOCH, SessionKey

VERSIONS: Final = (1, 2)
ACCESS: Final = (
    Access(Operation.READ, ResourceType.GROUP),
    Access(Operation.READ, ResourceType.TOPIC, Refusal.EACH),
)


def handle(request: Request, broker: ShareDataParts) -> Outcome:
    wanted = read_request(Api.SHARE_ACKNOWLEDGE, request.version, request.reader)
    session = SessionKey(wanted.group_id or "", wanted.member_id or "")
    lock_ms = broker.share.served.lock_ms(session.group_id)
    try:
        if not request.may(broker, Operation.READ, ResourceType.GROUP, session.group_id):
            raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
        now = broker.clock.monotonic()
        places = broker.share.sessions.acknowledge(session, wanted.share_session_epoch, now)
    except KafkaError as error:
        return Reply([_encode(request, lock_ms, error)])
    asked = [(each, acknowledge(request, broker, session, each, lock_ms)) for each in said(wanted.topics)]
    promises = [promise for _, promise in asked]
    if wanted.share_session_epoch == FINAL_EPOCH:
        promises += release(broker, session, places)

    def encode() -> bytes:
        return _encode(request, lock_ms, None, **_answer(request, broker, asked))

    return reply_when_done(broker, promises, encode)


def _answer(
    request: Request, broker: ShareDataParts, asked: list[tuple[Said, Promise[None]]]
) -> dict[str, Any]:
    rows: dict[bytes, list[dict[str, Any]]] = {}
    leaders = []
    for each, promise in asked:
        topic_id, index = each.place
        row: dict[str, Any] = {
            "partition_index": index,
            "error_code": ErrorCode.NONE,
            "current_leader": NO_LEADER,
        }
        try:
            outcome(promise)
        except KafkaError as error:
            row |= {"error_code": error.code, "error_message": error.message or None}
            if error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER:
                name = broker.controller.image.names.get(topic_id, "")
                leader = current_leader(broker, name, index)
                leaders.append(leader)
                row["current_leader"] = leader_of(leader)
        rows.setdefault(topic_id, []).append(row)
    return {
        "responses": [{"topic_id": topic_id, "partitions": found} for topic_id, found in rows.items()],
        "node_endpoints": node_rows(leaders_reached(broker, request.listener, leaders)),
    }


def _encode(request: Request, lock_ms: int, error: KafkaError | None, **fields: Any) -> bytes:
    body = {
        "throttle_time": 0,
        "error_code": ErrorCode.NONE if error is None else error.code,
        "error_message": None if error is None else error.message or None,
        "acquisition_lock_timeout": lock_ms,
        "responses": (),
        "node_endpoints": (),
        **fields,
    }
    return encode_response(Api.SHARE_ACKNOWLEDGE, request.version, body)
