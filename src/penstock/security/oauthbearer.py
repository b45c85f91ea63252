"""OAUTHBEARER (RFC 7628) on the server's side. Which tokens are good is said by the validator that is handed
in; `unsecured` believes every token, and is used only where the settings ask for it by name."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from penstock.security.authentication import AuthenticationFailed, Proof
from penstock.security.principals import user

_MESSAGE: Final = re.compile(
    r"n,(?:a=(?P<authzid>[^,\x01]*))?,\x01(?P<fields>(?:[a-zA-Z]+=[^\x01]*\x01)+)\x01"
)
_REFUSED: Final = b'{"status":"invalid_token"}'

Validate = Callable[[str], Proof]
"""The proof that a token is; AuthenticationFailed for one that is none."""


class OauthServer:
    """A `Mechanism`. A refusal is told twice, as the RFC wants: a reason, and after one more byte the end."""

    def __init__(self, validate: Validate) -> None:
        self._validate = validate
        self._has_refused = False
        self.proof: Proof | None = None

    def respond(self, data: bytes) -> bytes:
        if self._has_refused:
            raise AuthenticationFailed(_REFUSED.decode())
        match = _MESSAGE.fullmatch(data.decode("utf-8", "replace"))
        fields = dict(part.split("=", 1) for part in match["fields"].split("\x01") if part) if match else {}
        scheme, _, token = fields.get("auth", "").partition(" ")
        if match is None or scheme.lower() != "bearer" or not token:
            raise AuthenticationFailed("an OAUTHBEARER message of another form")
        try:
            proof = self._validate(token)
        except AuthenticationFailed:
            self._has_refused = True
            return _REFUSED
        if match["authzid"] not in (None, "", proof.principal.name):
            raise AuthenticationFailed("the authorization id is not the principal of the token")
        self.proof = proof
        return b""


def proof_of_claims(
    claims: Mapping[str, Any],
    now_ms: int,
    *,
    name_claim: str = "sub",
    scope_claim: str = "scope",
    skew_ms: int = 0,
) -> Proof:
    """The principal and the end of a token whose signature is known to be good."""
    name, expires = claims.get(name_claim), claims.get("exp")
    if not isinstance(name, str) or not name.strip() or not isinstance(expires, int | float):
        raise AuthenticationFailed("the token has no name or no end")
    expires_ms = int(expires * 1000)
    begins = [claims.get(claim, 0) for claim in ("iat", "nbf")]
    if (
        not all(isinstance(moment, int | float) and moment * 1000 <= now_ms + skew_ms for moment in begins)
        or expires_ms + skew_ms <= now_ms
    ):
        raise AuthenticationFailed("the token is expired, or not valid yet")
    _check_scopes(claims.get(scope_claim, ()))
    return Proof(user(name.strip()), expires_ms)


def _check_scopes(claim: Any) -> None:
    """As in Kafka, nothing asks for a scope; but a claim of another form refuses the token."""
    scopes = claim.split() if isinstance(claim, str) else claim
    if (
        not isinstance(scopes, list | tuple)
        or not all(isinstance(scope, str) and scope.strip() for scope in scopes)
        or len(set(scopes)) != len(scopes)
    ):
        raise AuthenticationFailed("the token's scopes are of another form")


def unsecured(token: str, now_ms: int, *, required_scopes: Collection[str] = ()) -> Proof:
    """An unsecured token (`alg` is `none`): Kafka's OAuthBearerUnsecuredValidatorCallbackHandler. For tests
    and trials only."""
    head, _, rest = token.partition(".")
    body, _, signature = rest.partition(".")
    if signature or _json(head).get("alg") != "none":
        raise AuthenticationFailed("an unsecured token has no signature")
    claims = _json(body)
    scopes = claims.get("scope", ())
    held = scopes.split() if isinstance(scopes, str) else scopes
    if not set(required_scopes) <= set(held):
        raise AuthenticationFailed("the token lacks a scope")
    return proof_of_claims(claims, now_ms)


def _json(part: str) -> dict[str, Any]:
    try:
        found = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, binascii.Error):
        raise AuthenticationFailed("the token is not JSON in base 64") from None
    if not isinstance(found, dict):
        raise AuthenticationFailed("the token holds no claims")
    return found
