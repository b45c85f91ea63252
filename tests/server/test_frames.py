"""Frames over a real socket: however the bytes come, the frames come out; memory follows what has arrived."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.protocol.primitives import MalformedMessage
from penstock.server.connections import transport
from penstock.server.connections.frames import (
    AHEAD_BYTES,
    FIRST_BUFFER_BYTES,
    HELD_BYTES,
    INLINE_BYTES,
    KEPT_BUFFER_BYTES,
    MOST_HELD,
    FrameReceiver,
    FrameSender,
)
from penstock.server.connections.sockets import never
from penstock.server.connections.transport import (
    ConnectionLost,
    PlainTransport,
    exchange_in_steps,
    set_timeouts,
)
from penstock.server.connections.turns import PureTurns
from penstock.storage.disk import OsDisk
from penstock.storage.slice import FileSlice

MAX_BYTES = 4 * 1024 * 1024
Sockets = tuple[socket.socket, socket.socket]


@pytest.fixture(params=["at once", "waiting"])
def sockets(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sockets]:
    """With the native first attempt, where it is built, and without."""
    if request.param == "waiting":
        monkeypatch.setattr(transport, "receive_now", never)
        monkeypatch.setattr(transport, "send_now", never)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        set_timeouts(ours, 5000)
        theirs.settimeout(5)
        yield ours, theirs


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


def received(receiver: FrameReceiver) -> bytes:
    frame = receiver.receive()
    assert frame is not None
    return bytes(frame)


def send_frame(sock: socket.socket, header: bytes, parts: list[Any]) -> None:
    sender = FrameSender(PlainTransport(sock))
    sender.send(header, parts)
    sender.flush()


def sending(sock: socket.socket, data: bytes) -> threading.Thread:
    thread = threading.Thread(target=sock.sendall, args=(data,))
    thread.start()
    return thread


def test_frames_that_are_sent_together_come_out_one_by_one(sockets: Sockets) -> None:
    ours, theirs = sockets
    bodies = [bytes([number]) * (number * 37 % 400) for number in range(100)]
    sender = sending(theirs, framed(*bodies))
    receiver = FrameReceiver(PlainTransport(ours), MAX_BYTES)
    assert [received(receiver) for _ in bodies] == bodies
    sender.join()


def test_frames_that_came_together_are_there_without_waiting(sockets: Sockets) -> None:
    ours, theirs = sockets
    bodies = [bytes([number]) * 6000 for number in range(100)]
    sender = sending(theirs, framed(*bodies))
    receiver = FrameReceiver(PlainTransport(ours), MAX_BYTES)
    seen, together = [], 0
    while len(seen) < len(bodies):
        seen.append(received(receiver))
        while (frame := receiver.next_nowait()) is not None:
            seen.append(bytes(frame))
            together += 1
    assert seen == bodies
    assert together > len(bodies) // 2
    assert len(receiver._buffer) <= AHEAD_BYTES
    sender.join()


@pytest.mark.parametrize("first", range(1, 12))
def test_a_frame_may_be_cut_anywhere(sockets: Sockets, first: int) -> None:
    ours, theirs = sockets
    receiver = FrameReceiver(PlainTransport(ours), MAX_BYTES)
    data = framed(b"abc", b"defg")
    theirs.sendall(data[:first])
    rest = threading.Timer(0.02, theirs.sendall, (data[first:],))
    rest.start()
    assert [received(receiver), received(receiver)] == [b"abc", b"defg"]
    rest.join()


def test_a_large_frame_between_small_ones_is_whole(sockets: Sockets) -> None:
    ours, theirs = sockets
    large = bytes(range(256)) * 8192
    sender = sending(theirs, framed(b"before", large, b"after", large, b""))
    receiver = FrameReceiver(PlainTransport(ours), MAX_BYTES)
    frames = [received(receiver) for _ in range(5)]
    assert frames == [b"before", large, b"after", large, b""]
    sender.join()


def test_memory_follows_what_has_arrived_not_what_is_announced(sockets: Sockets) -> None:
    ours, theirs = sockets
    receiver = FrameReceiver(PlainTransport(ours), MAX_BYTES)
    theirs.sendall(struct.pack(">i", MAX_BYTES) + bytes(100))
    theirs.shutdown(socket.SHUT_WR)
    with pytest.raises(ConnectionLost, match="middle"):
        receiver.receive()
    assert len(receiver._buffer) == FIRST_BUFFER_BYTES


def test_a_very_large_buffer_is_given_back(sockets: Sockets) -> None:
    ours, theirs = sockets
    receiver = FrameReceiver(PlainTransport(ours), MAX_BYTES)
    sender = sending(theirs, framed(bytes(KEPT_BUFFER_BYTES + 1)))
    assert len(received(receiver)) == KEPT_BUFFER_BYTES + 1
    sender.join()
    theirs.sendall(framed(b"small"))
    assert received(receiver) == b"small"
    assert len(receiver._buffer) == FIRST_BUFFER_BYTES


@pytest.mark.parametrize("size", [-1, MAX_BYTES + 1])
def test_a_size_out_of_bounds_is_malformed(sockets: Sockets, size: int) -> None:
    ours, theirs = sockets
    theirs.sendall(struct.pack(">i", size))
    with pytest.raises(MalformedMessage):
        FrameReceiver(PlainTransport(ours), MAX_BYTES).receive()


def test_an_end_between_frames_is_no_error_and_one_inside_is(sockets: Sockets) -> None:
    ours, theirs = sockets
    receiver = FrameReceiver(PlainTransport(ours), MAX_BYTES)
    theirs.sendall(framed(b"last"))
    theirs.shutdown(socket.SHUT_WR)
    assert received(receiver) == b"last"
    assert receiver.receive() is None


@pytest.mark.parametrize("cut", [1, 3, 4, 6])
def test_an_end_inside_a_frame_is_an_error(sockets: Sockets, cut: int) -> None:
    ours, theirs = sockets
    theirs.sendall(framed(b"abc")[:cut])
    theirs.shutdown(socket.SHUT_WR)
    with pytest.raises(ConnectionLost):
        FrameReceiver(PlainTransport(ours), MAX_BYTES).receive()


def test_silence_ends_when_the_timeout_does(sockets: Sockets) -> None:
    ours, _ = sockets
    set_timeouts(ours, 20)
    with pytest.raises(ConnectionLost, match="idle"):
        FrameReceiver(PlainTransport(ours), MAX_BYTES).receive()


@pytest.mark.parametrize("size", [1, INLINE_BYTES, INLINE_BYTES + 1, 3_000_000])
def test_slices_of_files_are_sent_where_they_stand(sockets: Sockets, tmp_path: Path, size: int) -> None:
    ours, theirs = sockets
    content = bytes(range(251)) * (size // 251 + 2)
    file = OsDisk().create(str(tmp_path / "log"))
    file.append(content)
    parts = [b"before", FileSlice(file, 7, size), b"after"]
    sender = threading.Thread(target=send_frame, args=(ours, b"head", parts))
    sender.start()
    wanted = b"headbefore" + content[7 : 7 + size] + b"after"
    assert received(FrameReceiver(PlainTransport(theirs), MAX_BYTES)) == wanted
    sender.join()


@pytest.mark.parametrize("size", [INLINE_BYTES, INLINE_BYTES + 1])
def test_a_log_that_became_shorter_ends_the_connection(sockets: Sockets, tmp_path: Path, size: int) -> None:
    ours, _ = sockets
    file = OsDisk().create(str(tmp_path / "log"))
    file.append(bytes(10))
    with pytest.raises(ConnectionLost, match="shorter"):
        send_frame(ours, b"head", [FileSlice(file, 0, size)])


def test_small_answers_leave_together_when_they_are_told_to(sockets: Sockets) -> None:
    ours, theirs = sockets
    sender = FrameSender(PlainTransport(ours))
    sender.send(b"head", [b"one"])
    sender.send(b"head", [b"two"])
    theirs.setblocking(False)
    with pytest.raises(BlockingIOError):
        theirs.recv(1)
    sender.flush()
    assert theirs.recv(100) == framed(b"headone", b"headtwo")


def test_answers_are_not_held_back_without_a_bound(sockets: Sockets) -> None:
    ours, theirs = sockets
    sender = FrameSender(PlainTransport(ours))
    for _ in range(MOST_HELD):
        sender.send(b"head", [b"body"])
    assert received(FrameReceiver(PlainTransport(theirs), MAX_BYTES)) == b"headbody"
    sender.send(b"head", [bytes(HELD_BYTES)])
    sender.flush()


def test_an_answer_to_a_peer_that_is_gone_ends_the_connection(sockets: Sockets) -> None:
    ours, theirs = sockets
    theirs.close()
    with pytest.raises(ConnectionLost):
        send_frame(ours, b"head", [b"body"])


def test_an_answer_that_nobody_reads_ends_with_the_timeout(sockets: Sockets) -> None:
    ours, _ = sockets
    set_timeouts(ours, 50)
    with pytest.raises(ConnectionLost, match="does not read"):
        send_frame(ours, b"head", [bytes(10_000)] * 1000)


def test_an_exchange_in_steps_is_the_exchange_of_a_plain_transport(sockets: Sockets) -> None:
    ours, theirs = sockets
    produce = framed(struct.pack(">h", 0) + b"records")
    plain, turns, room = PlainTransport(ours), PureTurns(), memoryview(bytearray(100))
    for request, has_turn in ((produce, True), (framed(b"\x00\x03"), False)):
        found = []
        for exchange in (plain.exchange, partial(exchange_in_steps, plain)):
            theirs.sendall(request)
            assert turns.take()
            found.append(exchange(turns, b"answers", room, True))
            assert theirs.recv(100) == b"answers"
            if has_turn:
                turns.give_up()
        assert found == [(len(request), has_turn)] * 2
