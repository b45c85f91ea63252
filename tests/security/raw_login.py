"""A socket of our own that has come in over TLS and SASL: what is sent on it afterwards is the test's
business."""

from __future__ import annotations

import socket
import ssl
from functools import partial

from penstock.protocol.apis import Api
from penstock.security.client_settings import Sasl
from penstock.wire.authenticating import authenticate
from tests.server.wire_bytes import ask

SECONDS = 20.0


def logged_in(
    address: tuple[str, int], context: ssl.SSLContext, sasl: Sasl, seconds: float = SECONDS
) -> ssl.SSLSocket:
    """ConnectionError when the broker refuses the proof."""
    plain = socket.create_connection(address, seconds)
    try:
        sock = context.wrap_socket(plain, server_hostname="localhost")
        sock.settimeout(seconds)
        ask(sock, Api.SASL_HANDSHAKE, 1, mechanism=sasl.mechanism)
        authenticate(sasl, partial(_exchange, sock))
    except BaseException:
        plain.close()
        raise
    return sock


def _exchange(sock: socket.socket, data: bytes) -> bytes:
    answer = ask(sock, Api.SASL_AUTHENTICATE, 1, auth_bytes=data)
    if answer.error_code:
        raise ConnectionError(f"refused: {answer.error_message}")
    return bytes(answer.auth_bytes)
