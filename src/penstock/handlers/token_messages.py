"""What the four APIs of delegation tokens share: which clients may ask, the rules, and the answers.

The answers are written by hand: a token may end after the year 9999, which Python's dates cannot hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from penstock.controller.delegation_tokens import TokenRules
from penstock.controller.security_records import DelegationTokenRecord
from penstock.coordinator.promise import Promise
from penstock.handlers.parts import ControllerParts, Timed
from penstock.handlers.promised import CONTROLLER_SECONDS, decided, reply_when_done
from penstock.handlers.reply import Reply, Wait
from penstock.handlers.request import Request
from penstock.protocol.apis import is_flexible
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.primitives import Writer
from penstock.security.delegation_tokens import token_hmac
from penstock.security.principals import ANONYMOUS, Principal, TokenPrincipal, parse_principal
from penstock.settings import BrokerSettings

NO_TIME: Final = -1
_REQUESTER_SINCE: Final = 3


def is_token_request_allowed(request: Request, settings: BrokerSettings) -> bool:
    """Whether the client may manage tokens: it has proved itself, and not by a token. A request that another
    broker has brought was checked there."""
    if isinstance(request.principal, TokenPrincipal):
        return False
    listeners = (*settings.client_listeners, *settings.controller_listeners)
    protocols = {listener.name: listener.security_protocol for listener in listeners}
    protocol = protocols.get(request.listener, "PLAINTEXT")
    return protocol != "PLAINTEXT" and not (protocol == "SSL" and request.principal == ANONYMOUS)


def token_rules(broker: Timed) -> TokenRules:
    settings = broker.settings
    return TokenRules(
        settings.delegation_token_secret_key or "",
        settings.delegation_token_max_lifetime_ms,
        settings.delegation_token_expiry_time_ms,
    )


def created(
    request: Request,
    code: ErrorCode,
    owner: Principal,
    requester: Principal,
    token: DelegationTokenRecord | None = None,
    hmac: bytes = b"",
) -> bytes:
    """The answer to CreateDelegationToken."""
    writer = _writer(request)
    writer.int16(code)
    _write_parties(writer, request.version, owner, requester)
    if token is None:
        _write_times(writer, NO_TIME, NO_TIME, NO_TIME)
    else:
        _write_times(writer, token.issued_ms, token.expires_ms, token.max_ms)
    writer.string("" if token is None else token.token_id)
    writer.sized_bytes(hmac)
    writer.int32(0)
    writer.tags()
    return bytes(writer.data)


def changed(request: Request, code: ErrorCode, expires_ms: int = NO_TIME) -> bytes:
    """The answer to RenewDelegationToken and ExpireDelegationToken."""
    writer = _writer(request)
    writer.int16(code)
    writer.int64(expires_ms)
    writer.int32(0)
    writer.tags()
    return bytes(writer.data)


def described(
    request: Request, code: ErrorCode, tokens: Sequence[DelegationTokenRecord] = (), secret_key: str = ""
) -> bytes:
    """The answer to DescribeDelegationToken."""
    writer = _writer(request)
    writer.int16(code)
    writer.array(len(tokens))
    for token in tokens:
        owner, requester = parse_principal(token.owner), parse_principal(token.requester)
        _write_parties(writer, request.version, owner, requester)
        _write_times(writer, token.issued_ms, token.expires_ms, token.max_ms)
        writer.string(token.token_id)
        writer.sized_bytes(token_hmac(secret_key, token.token_id))
        writer.array(len(token.renewers))
        for renewer in map(parse_principal, token.renewers):
            writer.string(renewer.kind)
            writer.string(renewer.name)
            writer.tags()
        writer.tags()
    writer.int32(0)
    writer.tags()
    return bytes(writer.data)


def reply_when_changed(request: Request, broker: ControllerParts, promise: Promise[int]) -> Reply | Wait:
    """Answer RenewDelegationToken or ExpireDelegationToken when the controller has decided."""
    encode: Callable[[], bytes] = partial(_changed_or_refused, request, promise)
    return reply_when_done(broker, [promise], encode, seconds=CONTROLLER_SECONDS)


def _changed_or_refused(request: Request, promise: Promise[int]) -> bytes:
    try:
        return changed(request, ErrorCode.NONE, decided(promise))
    except KafkaError as error:
        return changed(request, error.code)


def _writer(request: Request) -> Writer:
    return Writer(flexible=is_flexible(request.api, request.version))


def _write_parties(writer: Writer, version: int, owner: Principal, requester: Principal) -> None:
    for principal in (owner, requester) if version >= _REQUESTER_SINCE else (owner,):
        writer.string(principal.kind)
        writer.string(principal.name)


def _write_times(writer: Writer, issued_ms: int, expires_ms: int, max_ms: int) -> None:
    for moment in (issued_ms, expires_ms, max_ms):
        writer.int64(moment)
