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
from penstock.server.connections.sockets import NOT_NOW, SMALL_BYTES, receive_now, send_now
from penstock.server.connections.turns import Turns
from penstock.storage.slice import FileSlice

FIRST_BUFFER_BYTES: Final = 8 * 1024
KEPT_BUFFER_BYTES: Final = 2 * 1024 * 1024  # a larger one is given back after its request
AHEAD_BYTES: Final = 64 * 1024  # the most that is received before it is known how long the next frame is
HELD_BYTES: Final = 4 * 1024  # a larger answer is sent at once
MOST_HELD: Final = 64  # pieces of answers, of at most `HELD_BYTES` and a slice each
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
        # Whether more may be waiting than there was room for.
        self._was_full = False

    def next_nowait(self) -> memoryview | None:
        """The next frame if it is here as a whole."""
        start = self._start + _LENGTH_BYTES
        if start > self._end:
            return None
        (size,) = _LENGTH.unpack_from(self._buffer, self._start)
        if not 0 <= size <= self._max_bytes:
            raise MalformedMessage(f"a frame of {size} bytes, at most {self._max_bytes} are taken")
        end = start + size
        if end > self._end:
            return None
        self._start = end
        return self._buffer[start:end]

    @property
    def is_between_frames(self) -> bool:
        """Whether nothing of the next frame is here."""
        return self._start == self._end

    def exchange(self, turns: Turns, answers: bytes, has_turn: bool) -> bool:
        """Between two frames: send what was held back, and receive what comes, see `Turns.exchange`; whether
        there is a turn for it."""
        space = self._space()
        try:
            count, has_turn = turns.exchange(self._sock, answers, space, has_turn)
        except OSError as error:
            raise _not_received(error) from None
        if count < 0:
            raise _not_sent(OSError(-count, os.strerror(-count)))
        self._note(count, len(space))
        return has_turn

    def receive(self) -> memoryview | None:
        """The next frame; None when the peer closed between two frames."""
        while self._end - self._start < _LENGTH_BYTES:
            if not self._receive_some():
                return None
        frame = self.next_nowait()
        if frame is None:
            (size,) = _LENGTH.unpack_from(self._buffer, self._start)
            self._receive_rest(_LENGTH_BYTES + size)
            frame = self.next_nowait()
            assert frame is not None
        return frame

    def _receive_some(self) -> bool:
        """Whatever is there, up to a bound; False when the peer closed between two frames."""
        space = self._space()
        count = self._receive_into(space, 0)
        if count == 0 and self._end:
            raise ConnectionLost("closed in the middle of a frame")
        self._note(count, len(space))
        return count > 0

    def _space(self) -> memoryview:
        """Where to receive whatever is there."""
        if self._start == self._end:
            self._start = self._end = 0
            if len(self._buffer) > KEPT_BUFFER_BYTES:
                self._buffer = memoryview(bytearray(FIRST_BUFFER_BYTES))
                self._was_full = False
        else:
            self._move_to_front()
        if self._was_full and len(self._buffer) < AHEAD_BYTES:
            self._grow(AHEAD_BYTES)
        return self._buffer[self._end : AHEAD_BYTES]

    def _note(self, count: int, space: int) -> None:
        """So many bytes were received where so many could have been."""
        self._was_full = count == space
        self._end += count

    def _receive_rest(self, size: int) -> None:
        """Receive until the frame that has begun is `size` bytes long, and stands at the front."""
        if self._start:
            self._move_to_front()
        while self._end < size:
            # The announced size is only a claim: memory is taken as the bytes come, never more than twice of
            # what is there.
            if self._end == len(self._buffer):
                self._grow(size)
            count = self._receive_into(self._buffer[self._end : size], socket.MSG_WAITALL)
            if count == 0:
                raise ConnectionLost("closed in the middle of a frame")
            self._end += count

    def _grow(self, wanted: int) -> None:
        grown = memoryview(bytearray(min(wanted, 2 * len(self._buffer))))
        grown[: self._end] = self._buffer[: self._end]
        self._buffer = grown

    def _move_to_front(self) -> None:
        have = self._end - self._start
        self._buffer[:have] = self._buffer[self._start : self._end]
        self._start, self._end = 0, have

    def _receive_into(self, view: memoryview, flags: int) -> int:
        try:
            if len(view) <= SMALL_BYTES and (count := receive_now(self._fd, view)) != NOT_NOW:
                return count
            return self._sock.recv_into(view, 0, flags)
        except OSError as error:
            raise _not_received(error) from None


class FrameSender:
    """Sends answers. What is small is held back until `flush`, so that answers to requests that came together
    leave together: a system call costs more than most of them."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._fd = sock.fileno()
        self._held: list[bytes] = []

    def send(self, header: bytes, parts: Sequence[Part]) -> None:
        """Length, header and parts; large slices of files go by sendfile."""
        size = len(header)
        for part in parts:
            size += len(part) if isinstance(part, bytes) else part.size
        held = self._held
        held += (_LENGTH.pack(size), header)
        for part in parts:
            if isinstance(part, bytes):
                held.append(part)
            elif part.size <= INLINE_BYTES:
                held.append(_read(part))
            else:
                self.flush(socket.MSG_MORE)
                self._send_file(part)
        if len(held) > MOST_HELD or size > HELD_BYTES:
            self.flush()

    def take_held(self) -> bytes:
        """What is held back, for somebody else to send."""
        data = b"".join(self._held)
        self._held.clear()
        return data

    def flush(self, flags: int = 0) -> None:
        """Send what is held back."""
        if not self._held:
            return
        data = self.take_held()
        try:
            sent = max(0, send_now(self._fd, data, flags)) if len(data) <= SMALL_BYTES else 0
            while sent < len(data):
                sent += self._sock.send(memoryview(data)[sent:], flags)
        except OSError as error:
            raise _not_sent(error) from None

    def _send_file(self, part: FileSlice) -> None:
        position, stop = part.position, part.position + part.size
        try:
            while position < stop:
                sent = os.sendfile(self._fd, part.file.fileno(), position, stop - position)
                if sent == 0:
                    raise ConnectionLost(_SHORTER)
                position += sent
        except OSError as error:
            raise _not_sent(error) from None


def _not_received(error: OSError) -> ConnectionLost:
    if isinstance(error, BlockingIOError):
        return ConnectionLost("idle for too long")
    return ConnectionLost(str(error))


def _not_sent(error: OSError) -> ConnectionLost:
    if isinstance(error, BlockingIOError):
        return ConnectionLost("the peer does not read its answers")
    return ConnectionLost(str(error))


def _read(part: FileSlice) -> bytes:
    try:
        data = part.read()
    except OSError as error:
        raise _not_sent(error) from None
    if len(data) != part.size:
        raise ConnectionLost(_SHORTER)
    return data
