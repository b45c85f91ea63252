"""Envelope, v0: a broker brings a client's request to the active controller (KIP-590). The request inside is
authorized as the client that sent it, with the client's address. On controllers' listeners only."""

from __future__ import annotations

import ipaddress
from functools import partial
from typing import Any, Final

from penstock.handlers.broker import Broker
from penstock.handlers.forwarding import read_principal
from penstock.handlers.nodes_only import refused_node
from penstock.handlers.reply import Outcome, Reply, Wait
from penstock.handlers.request import Request
from penstock.handlers.table import FORWARDED, HANDLERS
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.header import read_request_header, response_header
from penstock.protocol.messages import encode_response, read_request
from penstock.protocol.primitives import MalformedMessage
from penstock.security.access import CLUSTER_ACTION
from penstock.security.principals import Principal

VERSIONS: Final = (0, 0)
ACCESS: Final = CLUSTER_ACTION


def handle(request: Request, broker: Broker) -> Outcome:
    wanted = read_request(Api.ENVELOPE, request.version, request.reader)
    refusal = refused_node(request, broker)
    if refusal is not None:
        return Reply([_sealed(request, None, refusal.code)])
    if not broker.controller.is_active:
        return Reply([_sealed(request, None, ErrorCode.NOT_CONTROLLER)])
    header, reader = read_request_header(memoryview(bytearray(wanted.request_data)))
    if header.api_key not in FORWARDED:
        raise MalformedMessage(f"API key {header.api_key} is not forwarded")
    api = Api(header.api_key)
    handler = HANDLERS[api]
    if not handler.VERSIONS[0] <= header.version <= handler.VERSIONS[1]:
        return Reply([_sealed(request, None, ErrorCode.UNSUPPORTED_VERSION)])
    try:
        principal, host = _sender(request, wanted)
    except KafkaError as error:
        return Reply([_sealed(request, None, error.code)])
    inner = Request(api, header.version, header.client_id or "", principal, host, request.listener, reader)
    head = response_header(api, header.version, header.correlation_id)
    return _wrapped(request, head, handler.handle(inner, broker))


def _sender(request: Request, wanted: Any) -> tuple[Principal, str]:
    """The client behind the envelope. Without a principal it is the broker that sent the envelope: so brokers
    ask for the internal topics. (Kafka refuses that, and has its brokers send such requests bare.)"""
    if wanted.request_principal is None:
        return request.principal, request.host
    try:
        host = str(ipaddress.ip_address(bytes(wanted.client_host_address)))
    except ValueError as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"the client's address: {error}") from error
    return read_principal(bytes(wanted.request_principal)), host


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
