"""From a broker to the active controller: a client's request goes on inside an Envelope (KIP-590), and the
answer comes back the same way.

On purpose unlike Kafka: when no controller has answered in time, the client's connection is closed.
"""

from __future__ import annotations

import ipaddress
from functools import partial
from typing import Any, Final, Protocol, cast

from penstock.coordinator.promise import Promise
from penstock.handlers.broker import Broker
from penstock.handlers.parts import ControllerLink
from penstock.handlers.promised import CONTROLLER_SECONDS, once_done
from penstock.handlers.reply import HangUp, Outcome, Reply, Wait
from penstock.handlers.request import Request
from penstock.handlers.throttling import Handle
from penstock.protocol.apis import Api, is_flexible
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_request, read_response
from penstock.protocol.primitives import MalformedMessage, Reader, Writer
from penstock.security.principals import Principal, TokenPrincipal

ENVELOPE_VERSION: Final = 0
_PRINCIPAL_VERSION: Final = 0
_SPARE_SECONDS: Final = 1.0  # the channel has its own deadline, and should be the one to tell


class _Entered(Protocol):
    """A handler that looks at the client's connection, which another node cannot see."""

    def refuse_on_entry(self, request: Request, broker: Broker, /) -> Reply | None: ...


def entering(handler: object, handle: Handle) -> Handle:
    """The handler for requests that come straight from a client: `refuse_on_entry`, where the module has it,
    is asked first. A request inside an Envelope has passed it on the broker that sent the Envelope."""
    if not hasattr(handler, "refuse_on_entry"):
        return handle
    refuse = cast(_Entered, handler).refuse_on_entry

    def refuse_or_handle(request: Request, broker: Broker) -> Outcome:
        return refuse(request, broker) or handle(request, broker)

    return refuse_or_handle


def forwarding(handle: Handle) -> Handle:
    """Served here on the active controller, and by it otherwise."""

    def handle_or_forward(request: Request, broker: Broker) -> Outcome:
        if broker.controller.is_active:
            return handle(request, broker)
        return _forward(request, broker)

    return handle_or_forward


def ask_for(
    broker: ControllerLink, asker: Request | None, api: Api, version: int, body: bytes
) -> Promise[bytes]:
    """A request of our own making: for the client behind `asker`, or for the broker itself."""
    frame = _header(api, version) + body
    sealed = envelope(frame, None) if asker is None else envelope(frame, asker.principal, asker.host)
    return broker.channel.ask(Api.ENVELOPE, ENVELOPE_VERSION, sealed)


def envelope(frame: bytes, principal: Principal | None, host: str = "127.0.0.1") -> bytes:
    """The body of an Envelope around a whole request. Without a principal the sender asks for itself."""
    fields = {
        "request_data": frame,
        "request_principal": None if principal is None else write_principal(principal),
        "client_host_address": ipaddress.ip_address(host).packed,
    }
    return encode_request(Api.ENVELOPE, ENVELOPE_VERSION, fields)


def write_principal(principal: Principal) -> bytes:
    """Kafka's DefaultPrincipalData, behind its version."""
    writer = Writer(flexible=True)
    writer.int16(_PRINCIPAL_VERSION)
    writer.string(principal.kind)
    writer.string(principal.name)
    writer.boolean(isinstance(principal, TokenPrincipal))
    writer.tags()
    return bytes(writer.data)


def read_principal(data: bytes) -> Principal:
    """KafkaError for anything but Kafka's DefaultPrincipalData."""
    reader = Reader(memoryview(data), flexible=True)
    try:
        version = reader.int16()
        if version != _PRINCIPAL_VERSION:
            raise MalformedMessage(f"version {version} of a principal is not known")
        kind, name, is_by_token = reader.string(), reader.string(), reader.boolean()
        return TokenPrincipal(kind, name) if is_by_token else Principal(kind, name)
    except MalformedMessage as error:
        raise KafkaError(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE, str(error)) from error


def _header(api: Api, version: int) -> bytes:
    writer = Writer(flexible=False)
    writer.int16(api)
    writer.int16(version)
    writer.int32(0)
    writer.nullable_string("penstock")
    writer.flexible = is_flexible(api, version)
    writer.tags()
    return bytes(writer.data)


def _forward(request: Request, broker: ControllerLink) -> Reply | Wait:
    frame = bytes(request.reader.buffer)
    body = envelope(frame, request.principal, request.host)
    promise = broker.channel.ask(Api.ENVELOPE, ENVELOPE_VERSION, body)
    answer = partial(_answer, request, promise)
    return once_done(broker, promise, answer, seconds=CONTROLLER_SECONDS + _SPARE_SECONDS)


def _answer(request: Request, promise: Promise[bytes]) -> Reply:
    if not promise.done:
        raise HangUp(f"no controller answered {request.api.name} in time")
    return Reply([_opened(request, promise)])


def _opened(request: Request, promise: Promise[bytes]) -> bytes:
    """The body of the answer inside. Its header is not used: the session writes the client's."""
    try:
        answer: Any = read_response(Api.ENVELOPE, ENVELOPE_VERSION, promise.result())
        if answer.error_code or answer.response_data is None:
            raise KafkaError(ErrorCode(int(answer.error_code)))
    except KafkaError as error:
        raise HangUp(f"the controller did not take {request.api.name}: {error}") from error
    reader = Reader(memoryview(answer.response_data))
    reader.int32()
    if is_flexible(request.api, request.version):
        reader.flexible = True
        reader.tags()
    return bytes(reader.buffer[reader.position :])
