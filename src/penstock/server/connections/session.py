"""One connection's conversation without its socket: a frame in, the head of the answer and what the handler
said out.

The socket shell and the simulator both drive this.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.handlers.broker import Broker
from penstock.handlers.cluster_nodes import controller_listeners
from penstock.handlers.controller_table import CONTROLLER_HANDLERS
from penstock.handlers.forwarding import entering, forwarding
from penstock.handlers.reply import NoReply, Outcome, Reply, Wait
from penstock.handlers.request import Request
from penstock.handlers.table import FORWARDED, HANDLERS
from penstock.handlers.throttling import Handle, handle_timed
from penstock.metrics.requests import ALL_TIMED_BEFORE, TIMED_EVERY, ApiRequests
from penstock.protocol.apis import Api
from penstock.protocol.header import read_request_header, response_header
from penstock.protocol.primitives import MalformedMessage
from penstock.security.principals import ANONYMOUS, Principal
from penstock.server.connections.plain import Conversation
from penstock.server.connections.sasl import SaslConversation
from penstock.server.connections.slow_requests import CurrentRequest


class Exchange(NamedTuple):
    """The header of the response, and the handler's outcome that becomes its body."""

    header: bytes
    outcome: Outcome
    requests: ApiRequests | None = None  # where a wait, and sending, are counted
    weight: int = 0  # how many requests this one stands for when it is timed; 0 when it is not
    local_seconds: float = 0.0  # how long handling has taken so far


class _Route(NamedTuple):
    """The handler of an API, and the versions that it serves; found by the key in a request."""

    api: Api
    handle: Handle
    oldest: int
    newest: int

    def check(self, version: int) -> None:
        """ApiVersions alone answers a version that it does not know."""
        if not self.oldest <= version <= self.newest and self.api is not Api.API_VERSIONS:
            raise MalformedMessage(
                f"{self.api.name} v{version} is not served, only v{self.oldest}-v{self.newest}"
            )


_ROUTES: Final = {
    int(api): _Route(
        api,
        entering(handler, forwarding(handler.handle) if api in FORWARDED else handler.handle),
        *handler.VERSIONS,
    )
    for api, handler in HANDLERS.items()
}
_CONTROLLER_ROUTES: Final = {
    int(api): _Route(api, entering(handler, handler.handle), *handler.VERSIONS)
    for api, handler in CONTROLLER_HANDLERS.items()
}
"""On the listeners that nodes use among themselves."""


_PRODUCE: Final = b"\x00\x00"
_SERVED: Final = Reply(())
_NO_ANSWER: Final = NoReply()


class Session:
    """State of a connection: its principal, and its listener."""

    def __init__(
        self,
        broker: Broker,
        listener: str,
        host: str,
        *,
        principal: Principal = ANONYMOUS,
        sasl: SaslConversation | None = None,
        plain: Conversation | None = None,
    ) -> None:
        """`principal` is what the transport has found out. With `sasl` the client must prove another one
        before anything but ApiVersions is served. `plain` serves what it can of produce requests."""
        self._broker = broker
        self._listener = listener
        self._host = host
        self._principal = principal
        self._sasl = sasl
        self._requests = broker.metrics.requests
        self._now = broker.clock.monotonic
        self.current = CurrentRequest(host, broker.settings.slow_request_ms)
        self.plain = None if sasl is not None or listener in controller_listeners(broker) else plain
        self._routes = _CONTROLLER_ROUTES if listener in controller_listeners(broker) else _ROUTES

    def identify(self, principal: Principal) -> None:
        """The transport has been opened, and has proved this principal."""
        self._principal = principal

    @property
    def is_stranger(self) -> bool:
        """Whether the client has still to prove who it is."""
        return self._sasl is not None and self._sasl.authentication.principal is None

    @property
    def has_ended(self) -> bool:
        """Whether the connection is to be closed when its last answer has left."""
        return self._sasl is not None and self._sasl.has_failed

    def handle(self, frame: memoryview) -> Exchange:
        """Serve one request. `MalformedMessage` means that this connection, and no other, must be closed."""
        if self._sasl is not None and self._sasl.takes(int.from_bytes(frame[:2], "big")):
            told = self._sasl.handle(frame)
            self._principal = self._sasl.authentication.principal or self._principal
            return Exchange(*told)
        if self.plain is not None and bytes(frame[:2]) == _PRODUCE:
            answer = self.plain.serve(frame)
            if answer is not None:
                return Exchange(answer, _SERVED if answer else _NO_ANSWER)
        (api_key, version, correlation_id, client_id), reader = read_request_header(frame)
        route = self._routes.get(api_key)
        if route is None:
            raise MalformedMessage(f"API key {api_key} is not served")
        api, handle, oldest, newest = route
        if not oldest <= version <= newest:
            route.check(version)
        requests = self._requests[api_key]
        requests.bytes_in += len(frame)
        number = requests.count = requests.count + 1
        is_seldom = number < ALL_TIMED_BEFORE
        is_timed = is_seldom or number % TIMED_EVERY == 0
        began = self._now() if is_timed else 0.0
        self.current.api = api
        self.current.asked = (version, correlation_id, client_id)
        request = Request(api, version, client_id or "", self._principal, self._host, self._listener, reader)
        if self._broker.quotas.limits_requests:
            outcome = handle_timed(handle, request, self._broker)
        else:
            outcome = handle(request, self._broker)
        header = response_header(api, version, correlation_id)
        if not is_timed:
            return Exchange(header, outcome, requests)
        weight = 1 if is_seldom else TIMED_EVERY
        seconds = self._now() - began
        if not isinstance(outcome, Wait):
            requests.served.record(seconds, weight)
            self.current.took(seconds)
        return Exchange(header, outcome, requests, weight, seconds)
