"""ReadShareGroupStateSummary, v0-v1: where a share group is in a partition, for tools. Brokers send it."""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import Promise
from penstock.handlers.parts import ShareDataParts
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.handlers.sharing.states import handle_states
from penstock.protocol.apis import Api
from penstock.security.access import CLUSTER_ACTION
from penstock.share.state import NO_OFFSET, PartitionState, SharePartitionKey

VERSIONS: Final = (0, 1)
ACCESS: Final = CLUSTER_ACTION


def handle(request: Request, broker: ShareDataParts) -> Outcome:
    def ask(key: SharePartitionKey, wanted: Any) -> Promise[PartitionState]:
        return broker.share.coordinator.summary(key)

    return handle_states(request, broker, Api.READ_SHARE_GROUP_STATE_SUMMARY, ask, _fields)


def _fields(state: PartitionState | None) -> dict[str, Any]:
    if state is None:
        state = PartitionState(start_offset=NO_OFFSET)
    return {
        "state_epoch": state.state_epoch,
        "leader_epoch": state.leader_epoch,
        "start_offset": state.start_offset,
        "delivery_complete_count": state.completed,
    }
