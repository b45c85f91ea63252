"""ReadShareGroupState, v0: a leader that begins to serve a partition to a share group asks what is known."""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import Promise
from penstock.handlers.parts import ShareDataParts
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.handlers.sharing.states import handle_states
from penstock.protocol.apis import Api
from penstock.security.access import CLUSTER_ACTION
from penstock.share.messages import write_batches
from penstock.share.state import NO_OFFSET, PartitionState, SharePartitionKey

VERSIONS: Final = (0, 0)
ACCESS: Final = CLUSTER_ACTION


def handle(request: Request, broker: ShareDataParts) -> Outcome:
    def ask(key: SharePartitionKey, wanted: Any) -> Promise[PartitionState]:
        return broker.share.coordinator.read(key, wanted.leader_epoch)

    return handle_states(request, broker, Api.READ_SHARE_GROUP_STATE, ask, _fields)


def _fields(state: PartitionState | None) -> dict[str, Any]:
    if state is None:
        return {"state_epoch": 0, "start_offset": NO_OFFSET, "state_batches": ()}
    return {
        "state_epoch": state.state_epoch,
        "start_offset": state.start_offset,
        "state_batches": write_batches(state.batches),
    }
