"""PLAIN (RFC 4616) on the server's side: a name and a password in the clear. Only for listeners with TLS, or
for networks that are trusted."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Final

from penstock.security.authentication import AuthenticationFailed, Proof
from penstock.security.principals import user

_NOBODYS: Final = b"compared with when there is no such user, so that this takes the same time"


class PlainServer:
    """A `Mechanism`: the one message is `authzid NUL name NUL password`."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords
        self.proof: Proof | None = None

    def respond(self, data: bytes) -> bytes:
        try:
            authzid, name, password = data.decode().split("\x00")
        except ValueError:
            raise _refusal() from None
        known = self._passwords.get(name)
        expected = _NOBODYS if known is None else known.encode()
        is_right = hmac.compare_digest(password.encode(), expected)
        if not name or not password or authzid not in ("", name) or known is None or not is_right:
            raise _refusal()
        self.proof = Proof(user(name))
        return b""


def _refusal() -> AuthenticationFailed:
    return AuthenticationFailed("Authentication failed: Invalid username or password")
