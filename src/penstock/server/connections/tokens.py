"""Which tokens of OAUTHBEARER are believed: those that a key of the issuer has signed, with the issuer,
audience, times, name and scopes that the settings want."""

from __future__ import annotations

from typing import Any, Final

import jwt

from penstock.clock import Clock
from penstock.security.authentication import AuthenticationFailed, Proof
from penstock.security.listener_settings import Oauth
from penstock.security.oauthbearer import proof_of_claims, unsecured
from penstock.server.connections.jwks import Keys, keys_of

ALGORITHMS: Final = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures with a private key. `none` and shared secrets are not among them."""


class TokenValidator:
    """The validator of one listener. Its call is a `Validate`; `close` ends the fetching of keys."""

    def __init__(self, oauth: Oauth, clock: Clock) -> None:
        """KeystoreError or OSError when the settings of TLS cannot be used."""
        self._oauth = oauth
        self._clock = clock
        self._keys: Keys | None = None if oauth.is_unsecured else keys_of(oauth, clock)

    def __call__(self, token: str) -> Proof:
        now_ms = self._clock.now_ms()
        if self._keys is None:
            return unsecured(token, now_ms)
        oauth = self._oauth
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                self._keys.key_of(token),
                algorithms=ALGORITHMS,
                audience=list(oauth.audiences) or None,
                issuer=oauth.issuer,
                options={
                    "require": ["exp", "iat"],
                    "verify_aud": bool(oauth.audiences),
                    "verify_exp": False,  # by our own clock, below
                    "verify_iat": False,
                    "verify_nbf": False,
                },
            )
        except (jwt.PyJWTError, OSError, ValueError):
            raise AuthenticationFailed("the token is not one of ours") from None
        return proof_of_claims(
            claims,
            now_ms,
            name_claim=oauth.name_claim,
            scope_claim=oauth.scope_claim,
            skew_ms=int(oauth.skew_seconds * 1000),
        )

    def close(self) -> None:
        if self._keys is not None:
            self._keys.close()
