"""Decisions about delegation tokens (KIP-48): create, renew, expire, and remove those that have expired.
Pure, with Kafka's order of checks."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from penstock.controller.image import Image
from penstock.controller.metadata_records import MetadataRecord
from penstock.controller.security_records import DelegationTokenRecord, RemoveDelegationTokenRecord
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.security.delegation_tokens import token_hmac
from penstock.security.principals import USER, Principal

_LATEST_MS: Final = 2**63 - 1


class TokenRules(NamedTuple):
    """What the settings say of tokens. No `repr` shows the key."""

    secret_key: str
    """Empty when there are no tokens."""
    max_lifetime_ms: int
    expiry_time_ms: int

    def __repr__(self) -> str:
        return f"TokenRules({self.max_lifetime_ms}, {self.expiry_time_ms})"


class TokenWish(NamedTuple):
    """A token that a client wants, for itself or for another principal."""

    requester: Principal
    owner: Principal
    renewers: Sequence[Principal]
    max_lifetime_ms: int
    """Zero or less for as long as the settings allow."""


def decide_create(
    wish: TokenWish, rules: TokenRules, now_ms: int, token_id: str
) -> tuple[list[MetadataRecord], DelegationTokenRecord]:
    _check_enabled(rules)
    lifetime_ms = rules.max_lifetime_ms
    if wish.max_lifetime_ms > 0:
        lifetime_ms = min(lifetime_ms, wish.max_lifetime_ms)
    if any(renewer.kind != USER for renewer in wish.renewers):
        raise KafkaError(ErrorCode.INVALID_PRINCIPAL_TYPE)
    max_ms = _sum(now_ms, lifetime_ms)
    token = DelegationTokenRecord(
        str(wish.owner),
        str(wish.requester),
        tuple(str(renewer) for renewer in wish.renewers),
        now_ms,
        max_ms,
        min(max_ms, _sum(now_ms, rules.expiry_time_ms)),
        token_id,
    )
    return [token], token


def decide_renew(
    image: Image, hmac_given: bytes, principal: Principal, period_ms: int, rules: TokenRules, now_ms: int
) -> tuple[list[MetadataRecord], int]:
    """The records, and when the token ends from now on."""
    _check_enabled(rules)
    token = _found(image, hmac_given, rules)
    if token.has_expired(now_ms):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_EXPIRED)
    _check_belongs(token, principal)
    period_ms = min(rules.expiry_time_ms, period_ms) if period_ms > 0 else rules.expiry_time_ms
    expires_ms = min(token.max_ms, _sum(now_ms, period_ms))
    return [replace(token, expires_ms=expires_ms)], expires_ms


def decide_expire(
    image: Image, hmac_given: bytes, principal: Principal, period_ms: int, rules: TokenRules, now_ms: int
) -> tuple[list[MetadataRecord], int]:
    """The records, and when the token ends. A negative period ends it now."""
    _check_enabled(rules)
    token = _found(image, hmac_given, rules)
    _check_belongs(token, principal)
    if period_ms < 0:
        return [RemoveDelegationTokenRecord(token.token_id)], now_ms
    if token.has_expired(now_ms):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_EXPIRED)
    expires_ms = min(token.max_ms, _sum(now_ms, period_ms))
    return [replace(token, expires_ms=expires_ms)], expires_ms


def decide_sweep(image: Image, now_ms: int) -> list[MetadataRecord]:
    """Remove the tokens that have expired."""
    return [
        RemoveDelegationTokenRecord(token.token_id)
        for token in image.tokens.values()
        if token.has_expired(now_ms)
    ]


def _found(image: Image, hmac_given: bytes, rules: TokenRules) -> DelegationTokenRecord:
    for token in image.tokens.values():
        if hmac.compare_digest(token_hmac(rules.secret_key, token.token_id), hmac_given):
            return token
    raise KafkaError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)


def _check_enabled(rules: TokenRules) -> None:
    if not rules.secret_key:
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)


def _check_belongs(token: DelegationTokenRecord, principal: Principal) -> None:
    if not token.belongs_to(str(principal)):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)


def _sum(now_ms: int, duration_ms: int) -> int:
    return min(_LATEST_MS, now_ms + duration_ms)
