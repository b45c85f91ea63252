"""ListGroups, v0-v5: the groups that this broker coordinates. From v4 on a client may choose them by
state, from v5 on by type."""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import Promise
from penstock.groups.messages import ListedGroup
from penstock.handlers.parts import GroupParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 5)
ACCESS: Final = (
    Access(Operation.DESCRIBE, ResourceType.CLUSTER, Refusal.HIDDEN),
    Access(Operation.DESCRIBE, ResourceType.GROUP, Refusal.HIDDEN, when="the cluster may not be described"),
)


def handle(request: Request, broker: GroupParts) -> Outcome:
    wanted = read_request(Api.LIST_GROUPS, request.version, request.reader)
    error: KafkaError | None = None
    promises: list[Promise[list[ListedGroup]]] = []
    try:
        promises = broker.groups.list_groups()
    except KafkaError as refused:
        error = refused

    def encode() -> bytes:
        code, rows = ErrorCode.NONE, []
        try:
            if error is not None:
                raise error
            listed = [group for promise in promises for group in outcome(promise)]
            rows = [_row(group) for group in listed if _is_wanted(request, broker, wanted, group)]
        except KafkaError as refused:
            code = refused.code
        fields = {"throttle_time": 0, "error_code": code, "groups": rows}
        return encode_response(Api.LIST_GROUPS, request.version, fields)

    return reply_when_done(broker, promises, encode)


def _is_wanted(request: Request, broker: GroupParts, wanted: Any, group: ListedGroup) -> bool:
    states = {state.lower() for state in getattr(wanted, "states_filter", ())}
    types = {kind.lower() for kind in getattr(wanted, "types_filter", ())}
    return (
        (not states or group.state.lower() in states)
        and (not types or group.group_type.lower() in types)
        and (
            request.may_see(broker, Operation.DESCRIBE, ResourceType.CLUSTER)
            or request.may_see(broker, Operation.DESCRIBE, ResourceType.GROUP, group.group_id)
        )
    )


def _row(group: ListedGroup) -> dict[str, Any]:
    return {
        "group_id": group.group_id,
        "protocol_type": group.protocol_type,
        "group_state": group.state,
        "group_type": group.group_type,
    }
