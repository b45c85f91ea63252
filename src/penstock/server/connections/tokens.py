"""Which tokens of OAUTHBEARER are believed: those signed by a key of the JWKS that the settings name, a file
or an address that is asked again from time to time."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import jwt

from penstock.clock import Clock
from penstock.security.authentication import AuthenticationFailed, Proof
from penstock.security.listener_settings import Oauth
from penstock.security.oauthbearer import Validate, proof_of_claims, unsecured

ALGORITHMS: Final = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures with a private key. `none` and shared secrets are not among them."""
_FETCH_SECONDS: Final = 10


def validator(oauth: Oauth, clock: Clock) -> Validate:
    if oauth.is_unsecured:
        return lambda token: unsecured(token, clock.now_ms())
    key_of = _file_keys(oauth, clock) if oauth.jwks_url.startswith("file:") else _fetched_keys(oauth)

    def validate(token: str) -> Proof:
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key_of(token),
                algorithms=ALGORITHMS,
                audience=list(oauth.audiences) or None,
                issuer=oauth.issuer,
                options={
                    "require": ["exp"],
                    "verify_aud": bool(oauth.audiences),
                    "verify_exp": False,  # by our own clock, below
                    "verify_iat": False,
                    "verify_nbf": False,
                },
            )
        except (jwt.PyJWTError, OSError, ValueError):
            raise AuthenticationFailed("the token is not one of ours") from None
        skew_ms = int(oauth.skew_seconds * 1000)
        return proof_of_claims(claims, clock.now_ms(), name_claim=oauth.name_claim, skew_ms=skew_ms)

    return validate


def _fetched_keys(oauth: Oauth) -> Callable[[str], Any]:
    client = jwt.PyJWKClient(
        oauth.jwks_url, cache_jwk_set=True, lifespan=oauth.refresh_seconds, timeout=_FETCH_SECONDS
    )
    return lambda token: client.get_signing_key_from_jwt(token).key


def _file_keys(oauth: Oauth, clock: Clock) -> Callable[[str], Any]:
    path = Path(oauth.jwks_url.removeprefix("file:").replace("//", "/", 1))
    lock = threading.Lock()
    kept: list[tuple[float, jwt.PyJWKSet]] = []

    def key_of(token: str) -> Any:
        with lock:
            if not kept or clock.monotonic() >= kept[0][0] + oauth.refresh_seconds:
                kept[:] = [(clock.monotonic(), jwt.PyJWKSet.from_dict(json.loads(path.read_text())))]
            keys = kept[0][1].keys
        wanted = jwt.get_unverified_header(token).get("kid")
        for key in keys:
            if key.key_id == wanted or (wanted is None and len(keys) == 1):
                return key.key
        raise ValueError("no such key")

    return key_of
