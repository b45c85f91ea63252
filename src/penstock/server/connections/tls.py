"""TLS as a transport of a connection. The handshake is done by the connection's own thread, within a time."""

from __future__ import annotations

import os
import socket
import ssl
from contextlib import suppress
from typing import Final

from penstock.handlers.reply import HangUp
from penstock.security.principals import Principal
from penstock.server.connections.transport import LINGER_MS, SHORTER, ConnectionLost, drain, exchange_in_steps
from penstock.server.connections.turns import Turns
from penstock.storage.slice import FileSlice
from penstock.wire.server_tls import ServerContext

HANDSHAKE_SECONDS: Final = 10.0
_CHUNK_BYTES: Final = 256 * 1024


class TlsTransport:
    """A `Transport` whose bytes are encrypted in this process: slices of files are read, and not sent by the
    kernel."""

    def __init__(self, sock: socket.socket, context: ServerContext, idle_ms: int) -> None:
        self.plain_fd: int | None = None
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
            with suppress(OSError):
                socket.socket.shutdown(self._tls or self._plain, socket.SHUT_WR)
            self.linger()  # the client reads why it was refused
            raise HangUp(f"TLS handshake failed: {_reason(error)}") from None
        except TimeoutError:
            raise HangUp(f"TLS handshake not finished within {HANDSHAKE_SECONDS:g} s") from None
        except OSError as error:
            raise ConnectionLost(str(error)) from None
        wrapped.settimeout(self._idle_seconds)
        try:
            return self._context.principal_of(wrapped.getpeercert(binary_form=True))
        except ValueError as error:
            raise HangUp(str(error)) from None

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

    def linger(self) -> None:
        sock = self._tls or self._plain
        with suppress(OSError):
            sock.settimeout(LINGER_MS / 1000)
            drain(sock)

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
