"""Questions of coordinators to other brokers over simulated links: what `server.cluster.peers` does with
threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from penstock.coordinator.promise import Promise, failed
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.testing.simulation.cluster.links import Link
from penstock.wire.connection import Address

ANSWER_MS: Final = 1_500.0
UNREACHABLE: Final = KafkaError(ErrorCode.NETWORK_EXCEPTION, "no answer from the other broker")


class SimulatedPeers:
    """Speaks `server.cluster.cluster_markers:Asks`."""

    def __init__(
        self, link_to: Callable[[str, int], Link], address_of: Callable[[int], Address | None]
    ) -> None:
        self._link_to = link_to
        self._address_of = address_of
        self._links: dict[Address, Link] = {}

    def ask(
        self, node_id: int, api: Api, versions: tuple[int, int], fields: Mapping[str, Any]
    ) -> Promise[Any]:
        address = self._address_of(node_id)
        if address is None:
            return failed(UNREACHABLE)
        link = self._links.get(address)
        if link is None:
            link = self._links[address] = self._link_to(address.host, address.port)
        promise: Promise[Any] = Promise()
        link.call(
            api,
            versions[1],
            dict(fields),
            promise.complete,
            lambda: promise.fail(UNREACHABLE),
            ANSWER_MS,
        )
        return promise
