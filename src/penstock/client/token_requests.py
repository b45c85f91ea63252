"""Delegation tokens as a client asks for them (KIP-48, KIP-373): the four requests and what they return.

How a request is sent and how an error is raised is the caller's: `kafka-delegation-tokens` has Kafka's words
for errors, `penstock token` has our own. The HMAC is the token's password: nothing here prints it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

Ask = Callable[[Any, Mapping[str, Any], tuple[int, int]], Any]
"""Sends a request of an API and gives the answer; raises when the answer is an error."""


class Token(NamedTuple):
    token_id: str
    hmac: bytes
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: int
    expiry_ms: int
    end_ms: int
    """When it ends for good, whatever renewals there were."""

    def __repr__(self) -> str:
        return f"Token({self.token_id!r}, owner={self.owner!r})"


def create_token(ask: Ask, renewers: Sequence[str], life_ms: int, owner: str | None = None) -> Token:
    """`life_ms` is -1 for the broker's own longest life; without an owner it is the client's own token."""
    from penstock.protocol.apis import Api

    kind, _, name = owner.partition(":") if owner else ("", "", "")
    fields = {
        "owner_principal_type": kind or None,
        "owner_principal_name": name or None,
        "renewers": [_principal(renewer) for renewer in renewers],
        "max_lifetime": life_ms,
    }
    answer = ask(Api.CREATE_DELEGATION_TOKEN, fields, (1, 3))
    return _token(answer, tuple(renewers))


def renew_token(ask: Ask, hmac: bytes, period_ms: int) -> int:
    """When it ends now, in milliseconds since 1970."""
    from penstock.protocol.apis import Api

    answer = ask(Api.RENEW_DELEGATION_TOKEN, {"hmac": hmac, "renew_period": period_ms}, (1, 2))
    return _milliseconds(answer.expiry_timestamp)


def expire_token(ask: Ask, hmac: bytes, period_ms: int) -> int:
    """-1 ends it at once."""
    from penstock.protocol.apis import Api

    answer = ask(Api.EXPIRE_DELEGATION_TOKEN, {"hmac": hmac, "expiry_time_period": period_ms}, (1, 2))
    return _milliseconds(answer.expiry_timestamp)


def describe_tokens(ask: Ask, owners: Sequence[str] = ()) -> list[Token]:
    """Those of the owners, or all that the client may see."""
    from penstock.protocol.apis import Api

    fields = {"owners": [_principal(owner) for owner in owners] or None}
    answer = ask(Api.DESCRIBE_DELEGATION_TOKEN, fields, (1, 3))
    return [
        _token(each, tuple(f"{one.principal_type}:{one.principal_name}" for one in each.renewers))
        for each in answer.tokens
    ]


def _principal(text: str) -> dict[str, str]:
    kind, _, name = text.partition(":")
    return {"principal_type": kind, "principal_name": name}


def _token(found: Any, renewers: tuple[str, ...]) -> Token:
    owner = f"{found.principal_type}:{found.principal_name}"
    requester = getattr(found, "token_requester_principal_name", "")  # KIP-373; older brokers do not say
    return Token(
        found.token_id,
        bytes(found.hmac),
        owner,
        f"{found.token_requester_principal_type}:{requester}" if requester else owner,
        renewers,
        _milliseconds(found.issue_timestamp),
        _milliseconds(found.expiry_timestamp),
        _milliseconds(found.max_timestamp),
    )


def _milliseconds(moment: datetime | int) -> int:
    return round(moment.timestamp() * 1000) if isinstance(moment, datetime) else moment
