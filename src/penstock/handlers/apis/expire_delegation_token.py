"""ExpireDelegationToken, v1-v2: a token ends at another time, or now when the period is negative (KIP-48).
Its owner and its renewers may, whatever the access control entries say."""

from __future__ import annotations

from typing import Final

from penstock.controller.controller import Decision
from penstock.controller.delegation_tokens import decide_expire
from penstock.controller.image import Image
from penstock.handlers.parts import ControllerParts, Timed
from penstock.handlers.reply import Reply, Wait
from penstock.handlers.request import Request
from penstock.handlers.token_messages import (
    changed,
    is_token_request_allowed,
    reply_when_changed,
    token_rules,
)
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import milliseconds, read_request
from penstock.security.access import Open

VERSIONS: Final = (1, 2)
ACCESS: Final = Open("the HMAC is the proof, and the token's owner and renewers alone may ask")


def refuse_on_entry(request: Request, broker: Timed) -> Reply | None:
    """A client that may not manage tokens, refused by the node that it is connected to."""
    if is_token_request_allowed(request, broker.settings):
        return None
    return Reply([changed(request, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)])


def handle(request: Request, broker: ControllerParts) -> Reply | Wait:
    wanted = read_request(Api.EXPIRE_DELEGATION_TOKEN, request.version, request.reader)
    hmac, period_ms, rules = bytes(wanted.hmac), milliseconds(wanted.expiry_time_period), token_rules(broker)

    def decide(image: Image) -> Decision[int]:
        now_ms = broker.clock.now_ms()
        return decide_expire(image, hmac, request.principal, period_ms, rules, now_ms)

    return reply_when_changed(request, broker, broker.controller.submit(decide))
