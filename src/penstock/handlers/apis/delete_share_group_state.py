"""DeleteShareGroupState, v0: forgets the place of a share group in a partition. Brokers send it."""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import Promise
from penstock.handlers.parts import ShareDataParts
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.handlers.sharing.states import handle_states, no_fields
from penstock.protocol.apis import Api
from penstock.security.access import CLUSTER_ACTION
from penstock.share.state import SharePartitionKey

VERSIONS: Final = (0, 0)
ACCESS: Final = CLUSTER_ACTION


def handle(request: Request, broker: ShareDataParts) -> Outcome:
    def ask(key: SharePartitionKey, wanted: Any) -> Promise[None]:
        return broker.share.coordinator.delete(key)

    return handle_states(request, broker, Api.DELETE_SHARE_GROUP_STATE, ask, no_fields)
