"""DeleteGroups, v0-v2: deletes groups that have no members, with their offsets. What is kept for a share
group is deleted before the group itself."""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import Promise, failed
from penstock.groups.messages import GroupKind
from penstock.handlers.parts import ShareDataParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.handlers.sharing.changing import delete_share_group
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 2)
ACCESS: Final = (Access(Operation.DELETE, ResourceType.GROUP, Refusal.EACH),)


def handle(request: Request, broker: ShareDataParts) -> Outcome:
    wanted = read_request(Api.DELETE_GROUPS, request.version, request.reader)
    promises: dict[str, Promise[Any]] = {
        group_id: _deletion(broker, group_id)
        if request.may(broker, Operation.DELETE, ResourceType.GROUP, group_id)
        else failed(KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED))
        for group_id in wanted.groups_names
    }

    def encode() -> bytes:
        results = [
            {"group_id": group_id, "error_code": _code(promise)} for group_id, promise in promises.items()
        ]
        fields = {"throttle_time": 0, "results": results}
        return encode_response(Api.DELETE_GROUPS, request.version, fields)

    return reply_when_done(broker, promises.values(), encode)


def _deletion(broker: ShareDataParts, group_id: str) -> Promise[Any]:
    kind = broker.groups.kind_of(group_id)
    if kind.done and not kind.broken and kind.result() is GroupKind.SHARE:
        return delete_share_group(broker, group_id)
    return broker.groups.delete_group(group_id)


def _code(promise: Promise[Any]) -> ErrorCode:
    try:
        outcome(promise)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE
