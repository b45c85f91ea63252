"""The bytes under a connection: a socket, or TLS over one. Each call has its own time; TimeoutError and other
OSErrors say what went wrong."""

from __future__ import annotations

import select
import socket
import ssl
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Protocol

from penstock.wire.deadline import Deadline

Buffer = bytes | bytearray | memoryview

_MOST_PARTS: Final = 512  # of one system call; the kernel's own limit is 1,024
_JOINED_BYTES: Final = 16 * 1024  # TLS sends records of this size: smaller parts are joined


class Transport(Protocol):
    def send(self, parts: Sequence[Buffer], deadline: Deadline) -> None: ...

    def receive_into(self, view: memoryview, deadline: Deadline) -> None: ...

    def is_quiet(self) -> bool:
        """Whether it is open at both ends, and nothing has arrived that was not read."""
        ...

    def has_arrived(self, seconds: float) -> bool:
        """Whether something arrives within this time, or the end of the connection does."""
        ...

    def interrupt(self) -> None:
        """A thread that waits here sees the end of the connection. Any thread may call it."""
        ...

    def close(self) -> None: ...


class PlainTransport:
    """A socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def send(self, parts: Sequence[Buffer], deadline: Deadline) -> None:
        pending = deque(memoryview(part) for part in parts if len(part))
        while pending:
            self._socket.settimeout(_patience(deadline))
            sent = self._socket.sendmsg([pending[index] for index in range(min(len(pending), _MOST_PARTS))])
            while sent:
                if sent < len(pending[0]):
                    pending[0] = pending[0][sent:]
                    break
                sent -= len(pending.popleft())

    def receive_into(self, view: memoryview, deadline: Deadline) -> None:
        while view:
            self._socket.settimeout(_patience(deadline))
            count = self._socket.recv_into(view)
            if count == 0:
                raise ConnectionError("closed by the broker")
            view = view[count:]

    def is_quiet(self) -> bool:
        self._socket.setblocking(False)
        try:
            self._socket.recv(1, socket.MSG_PEEK)  # an end of file, or bytes that nobody asked for
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def has_arrived(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def interrupt(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()


class TlsTransport:
    """TLS over a socket; the handshake is over."""

    def __init__(self, sock: ssl.SSLSocket) -> None:
        self._socket = sock

    def send(self, parts: Sequence[Buffer], deadline: Deadline) -> None:
        for part in _joined(parts):
            view = memoryview(part)
            while view:
                self._socket.settimeout(_patience(deadline))
                view = view[self._socket.send(view) :]

    def receive_into(self, view: memoryview, deadline: Deadline) -> None:
        while view:
            self._socket.settimeout(_patience(deadline))
            count = self._socket.recv_into(view)
            if count == 0:
                raise ConnectionError("closed by the broker")
            view = view[count:]

    def is_quiet(self) -> bool:
        """TLS cannot peek: a byte that is read here is one that nobody asked for, and the connection ends."""
        self._socket.settimeout(0)
        try:
            self._socket.recv(1)
        except ssl.SSLWantReadError:
            return True
        except OSError:
            return False
        return False

    def has_arrived(self, seconds: float) -> bool:
        if self._socket.pending():
            return True
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def interrupt(self) -> None:
        """`SSLSocket.shutdown` would forget the TLS state that another thread reads with."""
        with suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()


def _joined(parts: Sequence[Buffer]) -> list[Buffer]:
    """Small parts together, so that each does not become a TLS record of its own."""
    found: list[Buffer] = []
    small = bytearray()
    for part in parts:
        if len(part) < _JOINED_BYTES:
            small += part
            if len(small) < _JOINED_BYTES:
                continue
            part = b""
        if small:
            found.append(small)
            small = bytearray()
        if len(part):
            found.append(part)
    return [*found, small] if small else found


def _patience(deadline: Deadline) -> float:
    remaining = deadline.remaining()
    if remaining <= 0.0:
        raise TimeoutError
    return remaining
