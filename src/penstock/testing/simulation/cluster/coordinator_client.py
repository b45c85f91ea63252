"""A simulated client's way to the coordinator of its group or transactional id, wherever that is by now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.testing.simulation.cluster.links import REQUEST_TIMEOUT_MS
from penstock.testing.simulation.cluster.metadata import ClusterClient

GROUP: Final = 0
TRANSACTION: Final = 1

PASSING: Final = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
    }
)
"""Answers of a coordinator that are tried again, at whoever is the coordinator then."""


class CoordinatorClient:
    def __init__(self, client: ClusterClient, kind: int, key: str) -> None:
        self._client = client
        self._wanted = {"key_type": kind, "coordinator_keys": [key]}
        self._node: int | None = None

    def call(
        self,
        api: Api,
        version: int,
        fields: dict[str, Any],
        answered: Callable[[Any], None],
        lost: Callable[[], None],
        timeout_ms: float = REQUEST_TIMEOUT_MS,
    ) -> None:
        """Ask the coordinator. `lost` is called when no answer came, also when nobody knows whom to ask."""

        def forget() -> None:
            self.forget()
            lost()

        def found(response: Any) -> None:
            (told,) = response.coordinators
            if int(told.error_code) == ErrorCode.NONE:
                self._node = int(told.node_id)
                self.call(api, version, fields, answered, lost, timeout_ms)
            else:
                lost()

        if self._node is None:
            self._client.anybody().call(Api.FIND_COORDINATOR, 4, self._wanted, found, lost)
        else:
            self._client.link(self._node).call(api, version, fields, answered, forget, timeout_ms)

    def forget(self) -> None:
        """Somebody else may be the coordinator by now."""
        self._node = None
