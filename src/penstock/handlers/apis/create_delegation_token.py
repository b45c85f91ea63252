"""CreateDelegationToken, v1-v3: a token with which its holder logs in as its owner (KIP-48, KIP-373)."""

from __future__ import annotations

import base64
from typing import Any, Final

from penstock.controller.controller import Decision
from penstock.controller.delegation_tokens import TokenWish, decide_create
from penstock.controller.image import Image
from penstock.controller.security_records import DelegationTokenRecord
from penstock.handlers.parts import ControllerParts, Timed
from penstock.handlers.promised import CONTROLLER_SECONDS, decided, reply_when_done
from penstock.handlers.reply import Reply, Wait
from penstock.handlers.request import Request
from penstock.handlers.token_messages import created, is_token_request_allowed, token_rules
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import milliseconds, read_request
from penstock.security.access import Access
from penstock.security.delegation_tokens import token_hmac
from penstock.security.operations import Operation, ResourceType
from penstock.security.principals import Principal

VERSIONS: Final = (1, 3)
ACCESS: Final = (
    Access(Operation.CREATE_TOKENS, ResourceType.USER, when="the owner is not the principal that asks"),
)


def refuse_on_entry(request: Request, broker: Timed) -> Reply | None:
    """A client that may not manage tokens, refused by the node that it is connected to."""
    if is_token_request_allowed(request, broker.settings):
        return None
    wish = _wish(request, read_request(Api.CREATE_DELEGATION_TOKEN, request.version, request.reader))
    return _refused(request, wish, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


def handle(request: Request, broker: ControllerParts) -> Reply | Wait:
    wish = _wish(request, read_request(Api.CREATE_DELEGATION_TOKEN, request.version, request.reader))
    if wish.owner != request.principal and not request.may(
        broker, Operation.CREATE_TOKENS, ResourceType.USER, str(wish.owner)
    ):
        return _refused(request, wish, ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED)
    rules, token_id = token_rules(broker), _new_id(broker)

    def decide(_image: Image) -> Decision[DelegationTokenRecord]:
        return decide_create(wish, rules, broker.clock.now_ms(), token_id)

    promise = broker.controller.submit(decide)

    def encode() -> bytes:
        try:
            token = decided(promise)
        except KafkaError as error:
            return created(request, error.code, wish.owner, wish.requester)
        hmac = token_hmac(rules.secret_key, token.token_id)
        return created(request, ErrorCode.NONE, wish.owner, wish.requester, token, hmac)

    return reply_when_done(broker, [promise], encode, seconds=CONTROLLER_SECONDS)


def _wish(request: Request, wanted: Any) -> TokenWish:
    requester = Principal(request.principal.kind, request.principal.name)
    name = getattr(wanted, "owner_principal_name", None)
    return TokenWish(
        requester,
        Principal(wanted.owner_principal_type or "", name) if name else requester,
        [Principal(renewer.principal_type, renewer.principal_name) for renewer in wanted.renewers],
        milliseconds(wanted.max_lifetime),
    )


def _new_id(broker: ControllerParts) -> str:
    """Sixteen random bytes as Kafka writes them. No id begins with a dash: tools would read an option."""
    while True:
        text = base64.urlsafe_b64encode(broker.new_topic_id()).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def _refused(request: Request, wish: TokenWish, code: ErrorCode) -> Reply:
    return Reply([created(request, code, wish.owner, wish.requester)])
