"""TLS as a transport of a connection. The handshake is done by the connection's own thread, within a time.

A certificate that is replaced on disk is used by the next connection; those that are open keep theirs.
"""

from __future__ import annotations

import logging
import os
import socket
import ssl
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final

from penstock.clock import Clock
from penstock.handlers.reply import HangUp
from penstock.security.client_settings import Store
from penstock.security.keystores import KeystoreError, read_trusted
from penstock.security.listener_settings import ServerTls
from penstock.security.principal_mapping import PrincipalMapping
from penstock.security.principals import ANONYMOUS, Principal, user
from penstock.server.connections.transport import SHORTER, ConnectionLost, exchange_in_steps
from penstock.server.connections.turns import Turns
from penstock.storage.slice import FileSlice
from penstock.wire.tls import content_of, identity_of, load_identity

HANDSHAKE_SECONDS: Final = 10.0
LINGER_SECONDS: Final = 0.5
MOST_LINGERING: Final = 16  # pieces of what a refused client has sent
LOOK_SECONDS: Final = 1.0  # how often it is looked whether a store has been replaced
_CHUNK_BYTES: Final = 256 * 1024
_VERIFY: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}

_log = logging.getLogger(__name__)


class ServerContext:
    """The TLS context of a listener, made anew when its stores change. KeystoreError or OSError at the first
    one; later ones that cannot be used leave the old one in place."""

    def __init__(self, tls: ServerTls, clock: Clock) -> None:
        self._tls = tls
        self._clock = clock
        self._mapping = PrincipalMapping(tls.mapping_rules)
        self._lock = Lock()
        self._seen = self._stamps()
        self._context = self._made()
        self._next_look = clock.monotonic() + LOOK_SECONDS

    def current(self) -> ssl.SSLContext:
        with self._lock:
            if self._clock.monotonic() >= self._next_look:
                self._next_look = self._clock.monotonic() + LOOK_SECONDS
                self._look()
            return self._context

    def principal_of(self, certificate: bytes | None) -> Principal:
        """HangUp when no rule gives the name of a certificate a user."""
        if certificate is None:
            return ANONYMOUS
        from cryptography import x509

        name = x509.load_der_x509_certificate(certificate).subject.rfc4514_string()
        try:
            return user(self._mapping.name_of(name))
        except ValueError as error:
            raise HangUp(str(error)) from None

    def _look(self) -> None:
        try:
            stamps = self._stamps()
            if stamps != self._seen:
                self._context = self._made()
                self._seen = stamps
                _log.info("certificates were replaced: new connections use them")
        except (KeystoreError, OSError, ssl.SSLError) as error:
            _log.error("certificates were replaced and cannot be used; the old ones stay: %s", error)

    def _stamps(self) -> tuple[object, ...]:
        stores = [store for store in (self._tls.identity, self._tls.trust) if store is not None]
        return tuple(_stamp(store) for store in stores)

    def _made(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_mode = _VERIFY[self._tls.client_auth]
        load_identity(context, identity_of(self._tls.identity))
        if self._tls.trust is not None:
            trusted = read_trusted(content_of(self._tls.trust), self._tls.trust.password)
            context.load_verify_locations(cadata=trusted.decode("ascii", "replace"))
        return context


class TlsTransport:
    """A `Transport` whose bytes are encrypted in this process: slices of files are read, and not sent by the
    kernel."""

    def __init__(self, sock: socket.socket, context: ServerContext, idle_ms: int) -> None:
        self._plain = sock
        self._context = context
        self._idle_seconds = None if idle_ms < 0 else idle_ms / 1000
        self._tls: ssl.SSLSocket | None = None

    def open(self) -> Principal:
        self._plain.settimeout(HANDSHAKE_SECONDS)
        try:
            wrapped = self._context.current().wrap_socket(
                self._plain, server_side=True, do_handshake_on_connect=False
            )
            self._tls = wrapped
            wrapped.do_handshake()
        except ssl.SSLError as error:
            self._linger()
            raise HangUp(f"TLS handshake failed: {_reason(error)}") from None
        except TimeoutError:
            raise HangUp(f"TLS handshake not finished within {HANDSHAKE_SECONDS:g} s") from None
        except OSError as error:
            raise ConnectionLost(str(error)) from None
        wrapped.settimeout(self._idle_seconds)
        return self._context.principal_of(wrapped.getpeercert(binary_form=True))

    def _linger(self) -> None:
        """Let the client read why it was refused. To close at once would reset the connection when the client
        has sent more, and the reason would be lost on its way."""
        sock = self._tls or self._plain
        with suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_WR)
            sock.settimeout(LINGER_SECONDS)
            for _ in range(MOST_LINGERING):
                if not socket.socket.recv(sock, 4096):
                    break

    def receive(self, room: memoryview, *, fill: bool = False) -> int:
        assert self._tls is not None, "opened first"
        try:
            return self._tls.recv_into(room)
        except TimeoutError:
            raise ConnectionLost("idle for too long") from None
        except OSError as error:
            raise ConnectionLost(str(error)) from None

    def send(self, data: bytes, *, more: bool = False) -> None:
        assert self._tls is not None, "opened first"
        view = memoryview(data)
        try:
            while view:
                view = view[self._tls.send(view) :]
        except TimeoutError:
            raise ConnectionLost("the peer does not read its answers") from None
        except OSError as error:
            raise ConnectionLost(str(error)) from None

    def send_file(self, part: FileSlice) -> None:
        position, stop = part.position, part.position + part.size
        while position < stop:
            try:
                chunk = os.pread(part.file.fileno(), min(_CHUNK_BYTES, stop - position), position)
            except OSError as error:
                raise ConnectionLost(str(error)) from None
            if not chunk:
                raise ConnectionLost(SHORTER)
            self.send(chunk)
            position += len(chunk)

    def exchange(self, turns: Turns, answers: bytes, room: memoryview, has_turn: bool) -> tuple[int, bool]:
        return exchange_in_steps(self, turns, answers, room, has_turn)

    def shut(self) -> None:
        """`SSLSocket.shutdown` would forget the TLS state that the connection's thread reads with."""
        try:
            socket.socket.shutdown(self._tls or self._plain, socket.SHUT_RDWR)
        except OSError:
            return  # the peer may have been faster

    def close(self) -> None:
        (self._tls or self._plain).close()


def _reason(error: ssl.SSLError) -> str:
    reason = error.reason or str(error)
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "RECORD_LAYER_FAILURE"):
        return f"{reason}: the client does not speak TLS. Is its security.protocol SSL or SASL_SSL?"
    return reason


def _stamp(store: Store) -> object:
    if store.path is None:
        return store.pem
    found = Path(store.path).stat()
    return found.st_mtime_ns, found.st_size, found.st_ino
