"""DescribeDelegationToken, v1-v3: the tokens that the client owns, may renew, or may describe (KIP-48,
KIP-373). The answer holds their HMACs, which are their passwords, as in Kafka."""

from __future__ import annotations

from typing import Final

from penstock.controller.security_records import DelegationTokenRecord
from penstock.handlers.parts import MetadataParts
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.handlers.token_messages import described, is_token_request_allowed
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import read_request
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType
from penstock.security.principals import Principal

VERSIONS: Final = (1, 3)
ACCESS: Final = (
    Access(
        Operation.DESCRIBE,
        ResourceType.DELEGATION_TOKEN,
        Refusal.HIDDEN,
        "the client neither owns the token nor may renew it",
    ),
    Access(
        Operation.DESCRIBE_TOKENS, ResourceType.USER, Refusal.HIDDEN, "likewise, and the first is not allowed"
    ),
)


def handle(request: Request, broker: MetadataParts) -> Reply:
    wanted = read_request(Api.DESCRIBE_DELEGATION_TOKEN, request.version, request.reader)
    secret_key = broker.settings.delegation_token_secret_key
    if not is_token_request_allowed(request, broker.settings):
        return Reply([described(request, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)])
    if not secret_key:
        return Reply([described(request, ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)])
    owners = None
    if wanted.owners is not None:
        owners = [str(Principal(one.principal_type, one.principal_name)) for one in wanted.owners]
    tokens = [
        token
        for token in broker.controller.image.tokens.values()
        if (owners is None or any(map(token.belongs_to, owners))) and _may_see(request, broker, token)
    ]
    return Reply([described(request, ErrorCode.NONE, tokens, secret_key)])


def _may_see(request: Request, broker: MetadataParts, token: DelegationTokenRecord) -> bool:
    return (
        token.belongs_to(str(request.principal))
        or request.may(broker, Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id)
        or request.may(broker, Operation.DESCRIBE_TOKENS, ResourceType.USER, token.owner)
    )
