"""How bytes reach the peer of a connection, and come from it. `frames` cuts them into frames.

`Transport` is the seam for protection of a connection: another transport (`tls.TlsTransport`) has the same
methods, and nothing above it changes. `doors` chooses one by the listener's security protocol.

All methods but `shut` are called by the connection's own thread. They block, but never for longer than the
connection may be idle, and raise `ConnectionLost` when the peer is gone or silent.
"""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress
from typing import Final, Protocol

from penstock.security.principals import ANONYMOUS, Principal
from penstock.server.connections.sockets import NOT_NOW, SMALL_BYTES, receive_now, send_now
from penstock.server.connections.turns import Turns, begins_with_produce
from penstock.storage.slice import FileSlice

LINGER_MS: Final = 500
LINGERING_PIECES: Final = 16
"""How much a refused client may still send; each piece has `LINGER_MS` to come."""
SHORTER: Final = "the log became shorter while it was sent"


class ConnectionLost(Exception):
    """The peer went away, or was silent for too long."""


class Transport(Protocol):
    """One connection's bytes."""

    plain_fd: int | None
    """The descriptor over which a native conversation may send and receive; None for a transport that changes
    the bytes."""

    def open(self) -> Principal:
        """Called once, before anything else, by the connection's own thread: TLS does its handshake here.
        Returns the principal that the transport has proved, ANONYMOUS when it proves none."""
        ...

    def receive(self, room: memoryview, *, fill: bool = False) -> int:
        """Receive into `room`, and return how many bytes came; 0 when the peer has closed. With `fill` it
        waits until the room is full, as far as it can: fewer bytes are no error."""
        ...

    def send(self, data: bytes, *, more: bool = False) -> None:
        """Send all of `data`. `more` is a hint that the next call follows at once."""
        ...

    def send_file(self, part: FileSlice) -> None:
        """Send a slice of a file, if possible without copying it through this process."""
        ...

    def exchange(self, turns: Turns, answers: bytes, room: memoryview, has_turn: bool) -> tuple[int, bool]:
        """Between two requests, in one call: give up the turn, send `answers`, receive into `room`, and take
        another turn if what came is a whole produce request. Returns how many bytes came and whether there is
        a turn. `exchange_in_steps` does this with the other methods."""
        ...

    def linger(self) -> None:
        """Wait for a refused client to hang up, for a moment. To close at once would reset the connection if
        the client has sent more, and some clients drop an answer that comes together with the end."""
        ...

    def shut(self) -> None:
        """End the conversation from any thread: a thread that receives or sends wakes up."""
        ...

    def close(self) -> None: ...


class PlainTransport:
    """A TCP socket as it is. Slices go by sendfile, and exchanges are one native call where there is one."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._fd = sock.fileno()
        self.plain_fd: int | None = self._fd

    def open(self) -> Principal:
        return ANONYMOUS

    def receive(self, room: memoryview, *, fill: bool = False) -> int:
        try:
            if len(room) <= SMALL_BYTES and (count := receive_now(self._fd, room)) != NOT_NOW:
                return count
            return self._sock.recv_into(room, 0, socket.MSG_WAITALL if fill else 0)
        except OSError as error:
            raise not_received(error) from None

    def send(self, data: bytes, *, more: bool = False) -> None:
        flags = socket.MSG_MORE if more else 0
        try:
            sent = max(0, send_now(self._fd, data, flags)) if len(data) <= SMALL_BYTES else 0
            while sent < len(data):
                sent += self._sock.send(memoryview(data)[sent:], flags)
        except OSError as error:
            raise not_sent(error) from None

    def send_file(self, part: FileSlice) -> None:
        position, stop = part.position, part.position + part.size
        try:
            while position < stop:
                sent = os.sendfile(self._fd, part.file.fileno(), position, stop - position)
                if sent == 0:
                    raise ConnectionLost(SHORTER)
                position += sent
        except OSError as error:
            raise not_sent(error) from None

    def exchange(self, turns: Turns, answers: bytes, room: memoryview, has_turn: bool) -> tuple[int, bool]:
        try:
            count, has_turn = turns.exchange(self._sock, answers, room, has_turn)
        except OSError as error:
            raise not_received(error) from None
        if count < 0:
            raise not_sent(OSError(-count, os.strerror(-count)))
        return count, has_turn

    def linger(self) -> None:
        with suppress(OSError):
            set_timeouts(self._sock, LINGER_MS)
            drain(self._sock)

    def shut(self) -> None:
        with suppress(OSError):  # the peer may have been faster
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._sock.close()


def exchange_in_steps(
    transport: Transport, turns: Turns, answers: bytes, room: memoryview, has_turn: bool
) -> tuple[int, bool]:
    """`Transport.exchange` for a transport that has no call of its own for it."""
    if has_turn:
        turns.give_up()
    if answers:
        transport.send(answers)
    count = transport.receive(room)
    return count, begins_with_produce(room[:count]) and turns.take()


def drain(sock: socket.socket) -> None:
    """Read what is left, as it comes over the network, and look at nothing."""
    for _ in range(LINGERING_PIECES):
        if not socket.socket.recv(sock, 4096):
            break


def transport_for(sock: socket.socket, idle_ms: int) -> Transport:
    """The plain transport of a new connection."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    set_timeouts(sock, idle_ms)
    return PlainTransport(sock)


def set_timeouts(sock: socket.socket, timeout_ms: int) -> None:
    """Bound every call on a blocking socket by the system's own timeouts (SO_RCVTIMEO, SO_SNDTIMEO), which
    cost no system call. A negative time means no bound, which the system writes as zero."""
    seconds, rest_ms = divmod(max(0, timeout_ms), 1000)
    value = struct.pack("ll", seconds, rest_ms * 1000)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, value)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, value)


def not_received(error: OSError) -> ConnectionLost:
    if isinstance(error, BlockingIOError):
        return ConnectionLost("idle for too long")
    return ConnectionLost(str(error))


def not_sent(error: OSError) -> ConnectionLost:
    if isinstance(error, BlockingIOError):
        return ConnectionLost("the peer does not read its answers")
    return ConnectionLost(str(error))
