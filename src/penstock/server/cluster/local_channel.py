"""The way to the controller of a node that is alone: its own handlers."""

from __future__ import annotations

from penstock.coordinator.promise import Promise, done
from penstock.handlers.broker import Broker
from penstock.handlers.controller_table import CONTROLLER_HANDLERS
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api, is_flexible
from penstock.protocol.primitives import Reader
from penstock.security.principals import THIS_NODE


class LocalChannel:
    """A `ControllerChannel` whose promises are kept on return: one voter commits within a request."""

    def __init__(self) -> None:
        self.broker: Broker | None = None
        """Whose handlers answer; known when the node is built."""

    def ask(self, api: Api, version: int, body: bytes) -> Promise[bytes]:
        assert self.broker is not None, "a node that is not built yet asks nothing"
        reader = Reader(memoryview(body), flexible=is_flexible(api, version))
        request = Request(api, version, "", THIS_NODE, "127.0.0.1", "", reader)
        outcome = CONTROLLER_HANDLERS[api].handle(request, self.broker)
        assert isinstance(outcome, Reply), "a single voter commits at once"
        return done(b"".join(part for part in outcome.parts if isinstance(part, bytes)))
