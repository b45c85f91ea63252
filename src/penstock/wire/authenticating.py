"""SASL on the client's side of a connection: the mechanisms as an exchange of messages."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable
from typing import Final

from penstock.security.authentication import AuthenticationFailed
from penstock.security.client_settings import Sasl
from penstock.security.scram import ALGORITHMS, ScramClient
from penstock.wire.oauth_tokens import token_for

Exchange = Callable[[bytes], bytes]
"""Sends a message of the mechanism, and gives the server's answer."""

_NONCE_BYTES: Final = 24


def authenticate(sasl: Sasl, exchange: Exchange) -> None:
    """AuthenticationFailed when the server does not prove itself in turn, or no token is to be had. What the
    server refuses, `exchange` raises."""
    if sasl.mechanism == "PLAIN":
        exchange(b"\x00".join((b"", sasl.username.encode(), sasl.password.encode())))
    elif sasl.mechanism == "OAUTHBEARER":
        _show_token(sasl, exchange)
    else:
        extensions = ",".join(f"{name}={value}" for name, value in sasl.extensions)
        nonce = base64.b64encode(secrets.token_bytes(_NONCE_BYTES)).decode()
        client = ScramClient(ALGORITHMS[sasl.mechanism], sasl.username, sasl.password, nonce, extensions)
        client.check(exchange(client.final(exchange(client.first()))))


def _show_token(sasl: Sasl, exchange: Exchange) -> None:
    """RFC 7628. A server that refuses a token answers with the reason, and waits for one more byte."""
    assert sasl.login is not None, "OAUTHBEARER has a login"
    fields = [
        f"auth=Bearer {token_for(sasl.login).text}",
        *(f"{name}={value}" for name, value in sasl.extensions),
    ]
    answer = exchange(("n,,\x01" + "\x01".join(fields) + "\x01\x01").encode())
    if answer:
        exchange(b"\x01")
        raise AuthenticationFailed("the broker has refused the token")
