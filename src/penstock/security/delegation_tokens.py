"""Delegation tokens (KIP-48): the arithmetic. A token's HMAC, in base 64, is its password for SCRAM."""

from __future__ import annotations

import base64
import hmac
from typing import Final

from penstock.security.scram import Algorithm, ScramCredential, credential_of_password

_DIGEST: Final = "sha512"


def token_hmac(secret_key: str, token_id: str) -> bytes:
    return hmac.digest(secret_key.encode(), token_id.encode(), _DIGEST)


def token_credential(algorithm: Algorithm, secret_key: str, token_id: str, salt: bytes) -> ScramCredential:
    """What SCRAM checks the HMAC of this token with."""
    password = base64.b64encode(token_hmac(secret_key, token_id)).decode()
    return credential_of_password(algorithm, password, salt, algorithm.min_iterations)
