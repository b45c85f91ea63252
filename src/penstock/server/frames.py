"""Frames on a blocking socket: receive them into a buffer that grows as bytes arrive, send them from memory
and from files.

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
from penstock.server.sockets import NOT_NOW, SMALL_BYTES, receive_now, send_now
from penstock.storage.slice import FileSlice

FIRST_BUFFER_BYTES: Final = 8 * 1024
KEPT_BUFFER_BYTES: Final = 2 * 1024 * 1024  # a larger one is given back after its request
AHEAD_BYTES: Final = 64 * 1024  # the most that is received before it is known how long the next frame is
INLINE_BYTES: Final = 16 * 1024  # a smaller slice is copied: one system call less than sendfile
_LENGTH: Final = struct.Struct(">i")
_LENGTH_BYTES: Final = _LENGTH.size
_SHORTER: Final = "the log became shorter while it was sent"


class ConnectionLost(Exception):
    """The peer went away, or was silent for too long."""


def set_timeouts(sock: socket.socket, timeout_ms: int) -> None:
    """A negative time is for ever, which the system writes as zero."""
    seconds, rest_ms = divmod(max(0, timeout_ms), 1000)
    value = struct.pack("ll", seconds, rest_ms * 1000)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, value)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, value)


class FrameReceiver:
    """Receives frames one after the other into one buffer. A frame is valid until the next is asked for.

    Small frames that were sent together are received together; of a large one the rest is received alone.
    """

    def __init__(self, sock: socket.socket, max_bytes: int) -> None:
        self._sock = sock
        self._fd = sock.fileno()
        self._max_bytes = max_bytes
        self._buffer = memoryview(bytearray(FIRST_BUFFER_BYTES))
        # What was received and not handed out yet.
        self._start = 0
        self._end = 0

    def receive(self) -> memoryview | None:
        """The next frame; None when the peer closed between two frames."""
        while self._end - self._start < _LENGTH_BYTES:
            if not self._receive_some():
                return None
        start = self._start + _LENGTH_BYTES
        (size,) = _LENGTH.unpack_from(self._buffer, self._start)
        if not 0 <= size <= self._max_bytes:
            raise MalformedMessage(f"a frame of {size} bytes, at most {self._max_bytes} are taken")
        if start + size > self._end:
            self._receive_rest(_LENGTH_BYTES + size)
            start = _LENGTH_BYTES
        self._start = start + size
        return self._buffer[start : start + size]

    def _receive_some(self) -> bool:
        """Whatever is there, up to a bound; False when the peer closed between two frames."""
        if self._start == self._end:
            self._start = self._end = 0
            if len(self._buffer) > KEPT_BUFFER_BYTES:
                self._buffer = memoryview(bytearray(FIRST_BUFFER_BYTES))
        else:
            self._move_to_front()
        count = self._receive_into(self._buffer[self._end : AHEAD_BYTES], 0)
        if count == 0 and self._end:
            raise ConnectionLost("closed in the middle of a frame")
        self._end += count
        return count > 0

    def _receive_rest(self, size: int) -> None:
        """Receive until the frame that has begun is `size` bytes long, and stands at the front."""
        if self._start:
            self._move_to_front()
        while self._end < size:
            # The announced size is only a claim: memory is taken as the bytes come, never more than twice of
            # what is there.
            if self._end == len(self._buffer):
                grown = memoryview(bytearray(min(size, 2 * len(self._buffer))))
                grown[: self._end] = self._buffer
                self._buffer = grown
            count = self._receive_into(self._buffer[self._end : size], socket.MSG_WAITALL)
            if count == 0:
                raise ConnectionLost("closed in the middle of a frame")
            self._end += count

    def _move_to_front(self) -> None:
        have = self._end - self._start
        self._buffer[:have] = self._buffer[self._start : self._end]
        self._start, self._end = 0, have

    def _receive_into(self, view: memoryview, flags: int) -> int:
        try:
            if len(view) <= SMALL_BYTES and (count := receive_now(self._fd, view)) != NOT_NOW:
                return count
            return self._sock.recv_into(view, 0, flags)
        except BlockingIOError:
            raise ConnectionLost("idle for too long") from None
        except OSError as error:
            raise ConnectionLost(str(error)) from None


def send_frame(sock: socket.socket, header: bytes, parts: Sequence[Part]) -> None:
    """Send length, header and parts; large slices of files go by sendfile."""
    size = len(header)
    for part in parts:
        size += len(part) if isinstance(part, bytes) else part.size
    pending = [_LENGTH.pack(size), header]
    try:
        for part in parts:
            if isinstance(part, bytes):
                pending.append(part)
            elif part.size <= INLINE_BYTES:
                pending.append(_read(part))
            else:
                _send_bytes(sock, pending, socket.MSG_MORE)
                pending = []
                _send_file(sock, part)
        _send_bytes(sock, pending, 0)
    except BlockingIOError:
        raise ConnectionLost("the peer does not read its answers") from None
    except OSError as error:
        raise ConnectionLost(str(error)) from None


def _send_bytes(sock: socket.socket, chunks: list[bytes], flags: int) -> None:
    data = b"".join(chunks)
    sent = max(0, send_now(sock.fileno(), data, flags)) if 0 < len(data) <= SMALL_BYTES else 0
    while sent < len(data):
        sent += sock.send(memoryview(data)[sent:], flags)


def _read(part: FileSlice) -> bytes:
    data = part.read()
    if len(data) != part.size:
        raise ConnectionLost(_SHORTER)
    return data


def _send_file(sock: socket.socket, part: FileSlice) -> None:
    position, stop = part.position, part.position + part.size
    while position < stop:
        sent = os.sendfile(sock.fileno(), part.file.fileno(), position, stop - position)
        if sent == 0:
            raise ConnectionLost(_SHORTER)
        position += sent
