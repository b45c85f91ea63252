"""WriteShareGroupState, v0-v1: the leader of a partition keeps what it knows for a share group."""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import Promise, failed
from penstock.handlers.parts import ShareDataParts
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.handlers.sharing.states import handle_states, no_fields
from penstock.protocol.apis import Api
from penstock.protocol.errors import KafkaError
from penstock.security.access import CLUSTER_ACTION
from penstock.share.messages import read_batches
from penstock.share.state import PartitionState, SharePartitionKey

VERSIONS: Final = (0, 1)
ACCESS: Final = CLUSTER_ACTION


def handle(request: Request, broker: ShareDataParts) -> Outcome:
    def ask(key: SharePartitionKey, wanted: Any) -> Promise[None]:
        try:
            batches = read_batches(wanted.state_batches)
        except KafkaError as error:
            return failed(error)
        state = PartitionState(wanted.state_epoch, wanted.leader_epoch, wanted.start_offset, batches)
        return broker.share.coordinator.write(key, state)

    return handle_states(request, broker, Api.WRITE_SHARE_GROUP_STATE, ask, no_fields)
