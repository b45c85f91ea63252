"""One connection's conversation without its socket: a frame in, the head of the answer and what the handler
said out.

The socket shell and the simulator both drive this.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.handlers.authorize import ANONYMOUS, Principal
from penstock.handlers.broker import Broker
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.handlers.table import HANDLERS
from penstock.handlers.throttling import handle_timed
from penstock.protocol.apis import Api
from penstock.protocol.header import RequestHeader, read_request_header, response_header
from penstock.protocol.primitives import MalformedMessage


class Exchange(NamedTuple):
    """The header of the response, and the handler's outcome that becomes its body."""

    header: bytes
    outcome: Outcome


class Session:
    """State of a connection: who is there, and through which listener."""

    def __init__(self, broker: Broker, listener: str, host: str) -> None:
        self._broker = broker
        self._listener = listener
        self._host = host
        self._principal: Principal = ANONYMOUS

    def handle(self, frame: memoryview) -> Exchange:
        """Serve one request. `MalformedMessage` means that this connection, and no other, must be closed."""
        header, reader = read_request_header(frame)
        api = _served(header)
        request = Request(
            api,
            header.version,
            header.client_id or "",
            self._principal,
            self._host,
            self._listener,
            reader,
        )
        handle = HANDLERS[api].handle
        if self._broker.quotas.limits_requests:
            outcome = handle_timed(handle, request, self._broker)
        else:
            outcome = handle(request, self._broker)
        return Exchange(response_header(api, header.version, header.correlation_id), outcome)


def _served(header: RequestHeader) -> Api:
    """The API, if it is served in this version. ApiVersions alone answers a version that it does not know."""
    try:
        api = Api(header.api_key)
        low, high = HANDLERS[api].VERSIONS
    except (ValueError, KeyError):
        raise MalformedMessage(f"API key {header.api_key} is not served") from None
    if api is not Api.API_VERSIONS and not low <= header.version <= high:
        raise MalformedMessage(f"{api.name} v{header.version} is not served, only v{low}-v{high}")
    return api
