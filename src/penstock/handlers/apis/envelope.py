"""Envelope, v0: a broker brings a client's request to the active controller (KIP-590). On controllers'
listeners only."""

from __future__ import annotations

import ipaddress
from functools import partial
from typing import Final

from penstock.handlers.broker import Broker
from penstock.handlers.reply import Outcome, Reply, Wait
from penstock.handlers.request import Request
from penstock.handlers.table import FORWARDED, HANDLERS
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.header import read_request_header, response_header
from penstock.protocol.messages import encode_response, read_request
from penstock.protocol.primitives import MalformedMessage
from penstock.security.principals import ANONYMOUS

VERSIONS: Final = (0, 0)


def handle(request: Request, broker: Broker) -> Outcome:
    wanted = read_request(Api.ENVELOPE, request.version, request.reader)
    if not broker.controller.is_active:
        return Reply([_sealed(request, None, ErrorCode.NOT_CONTROLLER)])
    header, reader = read_request_header(memoryview(bytearray(wanted.request_data)))
    if header.api_key not in FORWARDED:
        raise MalformedMessage(f"API key {header.api_key} is not forwarded")
    api = Api(header.api_key)
    handler = HANDLERS[api]
    if not handler.VERSIONS[0] <= header.version <= handler.VERSIONS[1]:
        return Reply([_sealed(request, None, ErrorCode.UNSUPPORTED_VERSION)])
    inner = Request(
        api,
        header.version,
        header.client_id or "",
        ANONYMOUS,
        str(ipaddress.ip_address(wanted.client_host_address)),
        request.listener,
        reader,
    )
    head = response_header(api, header.version, header.correlation_id)
    return _wrapped(request, head, handler.handle(inner, broker))


def _wrapped(request: Request, head: bytes, outcome: Outcome) -> Reply | Wait:
    if isinstance(outcome, Wait):
        return outcome.wrapped_by(partial(_resumed, request, head, outcome))
    assert isinstance(outcome, Reply), "what is forwarded has an answer"
    data = head + b"".join(part for part in outcome.parts if isinstance(part, bytes))
    return Reply([_sealed(request, data, ErrorCode.NONE)])


def _resumed(request: Request, head: bytes, waiting: Wait, expired: bool) -> Reply | Wait:
    return _wrapped(request, head, waiting.resume(expired))


def _sealed(request: Request, data: bytes | None, code: ErrorCode) -> bytes:
    fields = {"response_data": data, "error_code": code}
    return encode_response(Api.ENVELOPE, request.version, fields)
