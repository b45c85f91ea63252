"""The memory that all connections share: bounded, waited for with an end, and given back."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable

import pytest

from penstock.clock import SystemClock
from penstock.server.connections import memory as memory_module
from penstock.server.connections.frames import AHEAD_BYTES, KEPT_BUFFER_BYTES, STEP_BYTES, FrameReceiver
from penstock.server.connections.memory import NO_BOUND, NoRoom, RequestMemory, Share, memory_for
from penstock.server.connections.transport import ConnectionLost, PlainTransport, set_timeouts
from penstock.settings import BrokerSettings

MB = 1024 * 1024
SECONDS = 10.0


def nothing() -> None:
    pass


@pytest.fixture
def memory() -> RequestMemory:
    return RequestMemory(10 * MB, SystemClock())


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_module, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(memory_module, "STALL_SECONDS", 0.1)
    monkeypatch.setattr(memory_module, "ROOM_SECONDS", 0.5)


def begun(task: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=task, daemon=True)
    thread.start()
    return thread


def test_what_is_taken_is_given_back(memory: RequestMemory) -> None:
    share = Share(memory, nothing)
    share.take(4 * MB)
    share.take(2 * MB)
    assert memory.used == 6 * MB
    share.give_back()
    share.give_back()
    assert memory.used == 0


def test_buffers_that_idle_connections_keep_take_no_room_of_requests(memory: RequestMemory) -> None:
    shares = [Share(memory, nothing) for _ in range(5)]
    for share in shares:
        share.take(MB)
    assert [share.keep() for share in shares] == [True, True, False, False, False]
    for share in shares[2:]:
        share.give_back()
    assert (memory.used, memory.kept) == (0, 2 * MB)
    large = Share(memory, nothing)
    large.take(10 * MB)
    large.give_back()
    shares[0].take(MB)
    assert (memory.used, memory.kept) == (MB, MB), "the buffer is used again"
    for share in shares:
        share.give_back()
    assert (memory.used, memory.kept) == (0, 0)


def test_without_room_a_connection_waits_until_another_gives_back(memory: RequestMemory) -> None:
    first, second = Share(memory, nothing), Share(memory, nothing)
    first.take(8 * MB)
    waiting = begun(lambda: second.take(4 * MB))
    assert waiting.is_alive()
    assert second.size == 0
    first.give_back()
    waiting.join(SECONDS)
    assert (second.size, memory.used) == (4 * MB, 4 * MB)


@pytest.mark.usefixtures("impatient")
def test_a_connection_does_not_wait_without_an_end(memory: RequestMemory) -> None:
    first, second = Share(memory, nothing), Share(memory, nothing)
    first.take(8 * MB)
    first.is_whole()  # it is served: only what is being received can stall
    with pytest.raises(NoRoom, match="no memory"):
        second.take(4 * MB)
    assert memory.used == 8 * MB


@pytest.mark.usefixtures("impatient")
def test_a_frame_that_stalls_makes_room_for_others(memory: RequestMemory) -> None:
    stalled, other = Share(memory, lambda: stalled.give_back()), Share(memory, nothing)
    stalled.take(8 * MB)
    began = time.monotonic()
    other.take(4 * MB)
    assert 0.1 <= time.monotonic() - began < 0.5
    assert (stalled.size, other.size) == (0, 4 * MB)


def test_connections_that_wait_for_each_other_go_on_one_after_the_other(memory: RequestMemory) -> None:
    shares = [Share(memory, nothing) for _ in range(5)]
    done: list[int] = []

    def receive(number: int) -> None:
        shares[number].take(4 * MB)
        done.append(memory.used)
        shares[number].give_back()

    for share in shares:
        share.take(2 * MB)
    threads = [begun(lambda number=number: receive(number)) for number in range(5)]  # type: ignore[misc]
    for thread in threads:
        thread.join(SECONDS)
    assert len(done) == 5, "none of them gives up"
    assert done[0] == 14 * MB, "the limit, and the rest of one request"
    assert max(done[1:]) <= 14 * MB
    assert memory.used == 0


def test_the_bound_has_room_for_one_request_of_the_largest_size() -> None:
    def limit(**texts: str) -> int:
        given = {name.replace("_", "."): text for name, text in texts.items()}
        return memory_for(BrokerSettings.load(None, given, {}), SystemClock())._limit_bytes

    assert limit() == 256 * MB
    assert limit(queued_max_request_bytes="1000") == 100 * MB
    assert limit(queued_max_request_bytes="-1") == NO_BOUND


def test_a_large_frame_takes_memory_as_it_arrives_and_gives_it_back() -> None:
    memory = RequestMemory(100 * MB, SystemClock())
    ours, theirs = socket.socketpair()
    with ours, theirs:
        set_timeouts(ours, 5000)
        frames = FrameReceiver(PlainTransport(ours), 50 * MB, Share(memory, nothing))
        frame = struct.pack(">i", 40 * MB) + bytes(40 * MB)
        sender = begun(lambda: theirs.sendall(frame + struct.pack(">i", 1) + b"x"))
        received = frames.receive()
        assert received is not None
        assert len(received) == 40 * MB
        assert memory.used == len(frame) - AHEAD_BYTES
        del received
        last = frames.receive()
        assert last is not None
        assert bytes(last) == b"x"
        assert memory.used == 0
        sender.join(SECONDS)


def test_half_of_a_frame_takes_memory_for_half_of_it() -> None:
    memory = RequestMemory(100 * MB, SystemClock())
    ours, theirs = socket.socketpair()
    with ours, theirs:
        set_timeouts(ours, 5000)
        share = Share(memory, nothing)
        frames = FrameReceiver(PlainTransport(ours), 50 * MB, share)
        theirs_done = begun(lambda: theirs.sendall(struct.pack(">i", 40 * MB) + bytes(20 * MB)))
        closing = begun(lambda: (theirs_done.join(SECONDS), theirs.shutdown(socket.SHUT_WR))[1])
        with pytest.raises(ConnectionLost, match="middle"):
            frames.receive()
        closing.join(SECONDS)
        assert 20 * MB - AHEAD_BYTES <= memory.used <= 20 * MB + STEP_BYTES


def test_a_buffer_of_the_usual_size_is_kept_while_there_is_memory() -> None:
    for limit, kept in ((100 * MB, KEPT_BUFFER_BYTES // 2), (2 * MB, 0)):
        memory = RequestMemory(limit, SystemClock())
        ours, theirs = socket.socketpair()
        with ours, theirs:
            set_timeouts(ours, 5000)
            frames = FrameReceiver(PlainTransport(ours), 50 * MB, Share(memory, nothing))
            size = KEPT_BUFFER_BYTES // 2 - 4
            small = struct.pack(">i", 1) + b"x"
            sender = begun(lambda: theirs.sendall(struct.pack(">i", size) + bytes(size) + small))  # noqa: B023
            assert frames.receive() is not None
            assert frames.receive() is not None
            sender.join(SECONDS)
            assert (memory.used, memory.kept) == (0, max(0, kept - AHEAD_BYTES))
