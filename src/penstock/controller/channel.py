"""The way from a node to the active controller, as those see it who ask. Sockets and the simulator have
theirs."""

from __future__ import annotations

from typing import Protocol

from penstock.coordinator.promise import Promise
from penstock.protocol.apis import Api


class ControllerChannel(Protocol):
    """Asks whoever is the active controller."""

    def ask(self, api: Api, version: int, body: bytes) -> Promise[bytes]:
        """The body of the answer. A new controller is asked again until there is one; what was asked may then
        have happened twice. REQUEST_TIMED_OUT when none has answered in time. Never blocks."""
        ...
