"""Which handler serves which API on the listeners of controllers: the quorum, brokers, and what brokers bring
on."""

from __future__ import annotations

from typing import Final, Protocol

from penstock.handlers.apis import (
    allocate_producer_ids,
    alter_partition,
    assign_replicas_to_dirs,
    broker_heartbeat,
    broker_registration,
    envelope,
)
from penstock.handlers.broker import Broker
from penstock.handlers.quorum.requests import QUORUM_HANDLERS
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.handlers.table import FORWARDED, HANDLERS
from penstock.protocol.api_versions import ApiRange
from penstock.protocol.apis import Api
from penstock.security.access import ApiAccess


class Handler(Protocol):
    """A module with these three names, or anything like it."""

    @property
    def VERSIONS(self) -> tuple[int, int]: ...  # noqa: N802

    @property
    def ACCESS(self) -> ApiAccess: ...  # noqa: N802

    def handle(self, request: Request, broker: Broker, /) -> Outcome: ...


_EVERYWHERE: Final = (
    Api.API_VERSIONS,
    Api.SASL_HANDSHAKE,
    Api.SASL_AUTHENTICATE,
    Api.DESCRIBE_CLUSTER,
)

CONTROLLER_HANDLERS: Final[dict[Api, Handler]] = {
    **QUORUM_HANDLERS,
    **{api: HANDLERS[api] for api in (*sorted(FORWARDED), *_EVERYWHERE)},
    Api.BROKER_REGISTRATION: broker_registration,
    Api.BROKER_HEARTBEAT: broker_heartbeat,
    Api.ALTER_PARTITION: alter_partition,
    Api.ASSIGN_REPLICAS_TO_DIRS: assign_replicas_to_dirs,
    Api.ALLOCATE_PRODUCER_IDS: allocate_producer_ids,
    Api.ENVELOPE: envelope,
}


def served_by_controllers() -> tuple[ApiRange, ...]:
    """Every API with its lowest and highest version."""
    return tuple(ApiRange(api, *handler.VERSIONS) for api, handler in CONTROLLER_HANDLERS.items())
