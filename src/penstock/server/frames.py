"""Frames on a blocking socket: receive one into a buffer that grows as bytes arrive, send one from memory and
from files.

Timeouts are the socket's own (SO_RCVTIMEO, SO_SNDTIMEO), so a call costs one system call and nobody waits for
ever.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Sequence
from typing import Final

from penstock.handlers.reply import Part
from penstock.protocol.primitives import MalformedMessage

FIRST_BUFFER_BYTES: Final = 8 * 1024
KEPT_BUFFER_BYTES: Final = 2 * 1024 * 1024  # a larger one is given back after its request
_LENGTH: Final = struct.Struct(">i")


class ConnectionLost(Exception):
    """The peer went away, or was silent for too long."""


def set_timeouts(sock: socket.socket, timeout_ms: int) -> None:
    """A negative time is for ever, which the system writes as zero."""
    seconds, rest_ms = divmod(max(0, timeout_ms), 1000)
    value = struct.pack("ll", seconds, rest_ms * 1000)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, value)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, value)


class FrameReceiver:
    """Receives frames one after the other into one buffer. A frame is valid until the next is asked for."""

    def __init__(self, sock: socket.socket, max_bytes: int) -> None:
        self._sock = sock
        self._max_bytes = max_bytes
        self._length = bytearray(_LENGTH.size)
        self._buffer = bytearray(FIRST_BUFFER_BYTES)

    def receive(self) -> memoryview | None:
        """The next frame; None when the peer closed between two frames."""
        if not self._fill(memoryview(self._length), at_boundary=True):
            return None
        (size,) = _LENGTH.unpack(self._length)
        if not 0 <= size <= self._max_bytes:
            raise MalformedMessage(f"a frame of {size} bytes, at most {self._max_bytes} are taken")
        if len(self._buffer) > KEPT_BUFFER_BYTES:
            self._buffer = bytearray(FIRST_BUFFER_BYTES)
        received = 0
        while received < size:
            # The announced size is only a claim: memory is taken as the bytes come, never more than twice of
            # what is there.
            if received == len(self._buffer):
                grown = bytearray(min(size, 2 * len(self._buffer)))
                grown[:received] = self._buffer
                self._buffer = grown
            stop = min(size, len(self._buffer))
            self._fill(memoryview(self._buffer)[received:stop])
            received = stop
        return memoryview(self._buffer)[:size]

    def _fill(self, view: memoryview, *, at_boundary: bool = False) -> bool:
        filled = 0
        while filled < len(view):
            try:
                count = self._sock.recv_into(view[filled:], 0, socket.MSG_WAITALL)
            except BlockingIOError:
                raise ConnectionLost("idle for too long") from None
            except OSError as error:
                raise ConnectionLost(str(error)) from None
            if count == 0:
                if at_boundary and filled == 0:
                    return False
                raise ConnectionLost("closed in the middle of a frame")
            filled += count
        return True


def send_frame(sock: socket.socket, header: bytes, parts: Sequence[Part]) -> None:
    """Send length, header and parts; slices of files go by sendfile."""
    size = len(header) + sum(len(part) if isinstance(part, bytes) else part.size for part in parts)
    pending: list[bytes] = [_LENGTH.pack(size) + header]
    try:
        for part in parts:
            if isinstance(part, bytes):
                pending.append(part)
                continue
            _send_bytes(sock, pending, socket.MSG_MORE)
            pending = []
            _send_file(sock, part.file.fileno(), part.position, part.size)
        _send_bytes(sock, pending, 0)
    except BlockingIOError:
        raise ConnectionLost("the peer does not read its answers") from None
    except OSError as error:
        raise ConnectionLost(str(error)) from None


def _send_bytes(sock: socket.socket, chunks: list[bytes], flags: int) -> None:
    data = b"".join(chunks) if len(chunks) > 1 else chunks[0] if chunks else b""
    view = memoryview(data)
    while view:
        view = view[sock.send(view, flags) :]


def _send_file(sock: socket.socket, fileno: int, position: int, size: int) -> None:
    stop = position + size
    while position < stop:
        sent = os.sendfile(sock.fileno(), fileno, position, stop - position)
        if sent == 0:
            raise ConnectionLost("the log became shorter while it was sent")
        position += sent
