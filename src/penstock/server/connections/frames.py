"""Frames over a transport: receive them into a buffer that grows as bytes arrive, send them from memory and
from files.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from mmap import mmap
from typing import Final

from penstock.handlers.reply import Part
from penstock.protocol.primitives import MalformedMessage
from penstock.server.connections.memory import Share
from penstock.server.connections.plain import Conversation
from penstock.server.connections.transport import SHORTER, ConnectionLost, Transport, not_received, not_sent
from penstock.server.connections.turns import Turns
from penstock.storage.slice import FileSlice

FIRST_BUFFER_BYTES: Final = 8 * 1024
KEPT_BUFFER_BYTES: Final = 2 * 1024 * 1024  # a larger one is given back after its request
AHEAD_BYTES: Final = 64 * 1024  # the most that is received before it is known how long the next frame is
STEP_BYTES: Final = 1024 * 1024  # what is received of a large frame before memory for more is taken
HELD_BYTES: Final = 4 * 1024  # a larger answer is sent at once
MOST_HELD: Final = 64  # pieces of answers, of at most `HELD_BYTES` and a slice each
INLINE_BYTES: Final = 16 * 1024  # a smaller slice is copied: one system call less than sendfile
_LENGTH: Final = struct.Struct(">i")
_LENGTH_BYTES: Final = _LENGTH.size


class FrameReceiver:
    """Receives frames one after the other into one buffer. A frame is valid until the next is asked for.

    Small frames that were sent together are received together; of a large one the rest is received alone.

    The announced size of a frame is only a claim, so memory is taken as the bytes come. Up to
    `KEPT_BUFFER_BYTES` the buffer is doubled, and kept for the next frame. A larger frame gets a memory map
    of its own: its pages become real one by one, and the system has them back when the frame is dropped.
    """

    def __init__(self, transport: Transport, max_bytes: int, share: Share | None = None) -> None:
        """`share` is this connection's part of the memory of all connections; None for one without bounds."""
        self._transport = transport
        self._max_bytes = max_bytes
        self._share = share
        self._buffer = memoryview(bytearray(FIRST_BUFFER_BYTES))
        # What was received and not handed out yet.
        self._start = 0
        self._end = 0
        # Whether more may be waiting than there was room for.
        self._was_full = False

    def allow(self, max_bytes: int) -> None:
        """Take frames up to this size from now on."""
        self._max_bytes = max_bytes

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
        """Between two frames: send `answers` and receive what comes, see `Transport.exchange`. Returns
        whether there is a turn for it."""
        space = self._space()
        count, has_turn = self._transport.exchange(turns, answers, space, has_turn)
        self._note(count, len(space))
        return has_turn

    def converse(self, fd: int, plain: Conversation, answers: bytes) -> None:
        """Let plain requests be served, after `answers` are sent, until there is something for Python to do.
        The next frame need not be here as a whole then."""
        self._space()
        room = self._buffer[:AHEAD_BYTES]
        try:
            start, end = plain.converse(fd, answers, room, self._start, self._end)
        except OSError as error:
            raise not_received(error) from None
        if start < 0:
            raise not_sent(OSError(-start, os.strerror(-start)))
        self._start, self._end = start, end
        self._was_full = end == len(room)

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
        count = self._transport.receive(space)
        if count == 0 and self._end:
            raise ConnectionLost("closed in the middle of a frame")
        self._note(count, len(space))
        return count > 0

    def _space(self) -> memoryview:
        """Where to receive whatever is there."""
        self.rest()
        if self._start:
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
            if self._end == len(self._buffer):
                self._grow(size)
            stop = min(size, len(self._buffer), self._end + STEP_BYTES)
            self._pay_for(stop if len(self._buffer) > KEPT_BUFFER_BYTES else len(self._buffer))
            count = self._transport.receive(self._buffer[self._end : stop], fill=True)
            if count == 0:
                raise ConnectionLost("closed in the middle of a frame")
            self._end += count
        if self._share is not None:
            self._share.is_whole()

    def _grow(self, wanted: int) -> None:
        if wanted > KEPT_BUFFER_BYTES:
            grown = memoryview(mmap(-1, wanted))
        else:
            size = min(wanted, 2 * len(self._buffer))
            self._pay_for(size)
            grown = memoryview(bytearray(size))
        grown[: self._end] = self._buffer[: self._end]
        self._buffer = grown

    def _pay_for(self, size: int) -> None:
        """Take memory for `size` bytes, of which the first are free of charge. It may wait for room. What was
        kept for this request is counted already, so it needs no lock."""
        share = self._share
        if share is not None and (due := size - AHEAD_BYTES - share.size) > share.kept:
            share.take(due)

    def rest(self) -> None:
        """The last frame is done, and the next one is not asked for yet: give back what it took."""
        if self._start == self._end:
            self._start = self._end = 0
            if len(self._buffer) > AHEAD_BYTES:
                self._keep_or_drop()

    def _keep_or_drop(self) -> None:
        """A large buffer between two frames: keep it for the next one, or give its memory back."""
        if len(self._buffer) > KEPT_BUFFER_BYTES or (self._share is not None and not self._share.keep()):
            self._buffer = memoryview(bytearray(FIRST_BUFFER_BYTES))
            self._was_full = False
            if self._share is not None:
                self._share.give_back()

    def _move_to_front(self) -> None:
        have = self._end - self._start
        self._buffer[:have] = self._buffer[self._start : self._end]
        self._start, self._end = 0, have


class FrameSender:
    """Sends answers. Small ones are held back until `flush`, so that answers to requests that came together
    leave together: a system call costs more than most of them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
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
                self.flush(more=True)
                self._transport.send_file(part)
        if len(held) > MOST_HELD or size > HELD_BYTES:
            self.flush()

    def take_held(self) -> bytes:
        """What is held back, for the caller to send."""
        data = b"".join(self._held)
        self._held.clear()
        return data

    def flush(self, *, more: bool = False) -> None:
        """Send what is held back."""
        if self._held:
            self._transport.send(self.take_held(), more=more)


def _read(part: FileSlice) -> bytes:
    try:
        data = part.read()
    except OSError as error:
        raise not_sent(error) from None
    if len(data) != part.size:
        raise ConnectionLost(SHORTER)
    return data
