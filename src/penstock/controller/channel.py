"""The way from a node to the active controller. `server` implements it with sockets, and the simulator with
its own network."""

from __future__ import annotations

from typing import Protocol

from penstock.coordinator.promise import Promise
from penstock.protocol.apis import Api


class ControllerChannel(Protocol):
    """Sends requests to the active controller, wherever it is."""

    def ask(self, api: Api, version: int, body: bytes) -> Promise[bytes]:
        """The body of the answer. A new controller is asked again until there is one; what was asked may then
        have happened twice. REQUEST_TIMED_OUT when none has answered in time. Never blocks."""
        ...
