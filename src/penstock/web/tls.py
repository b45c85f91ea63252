"""HTTPS: one context for the life of a listener, whose certificates are those of the moment.

Servers take one context when they start. It asks for the current one at the beginning of each handshake, so
certificates that are replaced on disk need no restart. The client's certificate travels in the state of the
ASGI scope, because ASGI has no other place for it.
"""

from __future__ import annotations

import ssl
from typing import Any, Final

from starlette.requests import Request

from penstock.wire.server_tls import ServerContext

PEER_CERTIFICATE: Final = "penstock.peer_certificate"
HTTP_1: Final = ("http/1.1",)
HTTP_2: Final = ("h2", "http/1.1")
HANDSHAKE_SECONDS: Final = 10


def listener_context(certificates: ServerContext) -> ssl.SSLContext:
    first = certificates.current()

    def renew(connection: Any, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = certificates.current()

    first.sni_callback = renew  # OpenSSL calls it for clients that name no server as well
    return first


def certificate_of(transport: Any) -> bytes | None:
    """The certificate of the client behind an asyncio transport, as DER."""
    connection = transport.get_extra_info("ssl_object")
    found: bytes | None = None if connection is None else connection.getpeercert(binary_form=True)
    return found


def peer_certificate(request: Request) -> bytes | None:
    """What `certificate_of` has found; None without TLS, or without a certificate."""
    found: bytes | None = request.scope.get("state", {}).get(PEER_CERTIFICATE)
    return found
