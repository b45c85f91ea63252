"""Turns are given in order, nobody waits for one for ever, and none is lost; in both forms."""

from __future__ import annotations

import errno
import socket
import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module

import pytest

from penstock.server.connections.transport import set_timeouts
from penstock.server.connections.turns import PureTurns, Turns

Make = Callable[[float, int], Turns]
A_LONG_TIME = 30.0
NO_CROWD = 99
PRODUCE = b"\0\0\0\x08" + b"\0\0" + b"\0\x09" + b"body"
METADATA = b"\0\0\0\x08" + b"\0\3" + b"\0\x09" + b"body"


@pytest.fixture(params=["pure", "native"])
def make(request: pytest.FixtureRequest) -> Make:
    if request.param == "pure":
        return PureTurns
    made: Make = import_module("penstock.server.connections._turns_native").Turns
    return made


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    set_timeouts(ours, 20_000)
    with ours, theirs:
        yield ours, theirs


def until_waiting(turns: Turns, *counts: int) -> None:
    """Come back when so many wait for a turn, and so many behind them."""
    deadline = time.monotonic() + A_LONG_TIME
    while turns.waiting() != counts:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def in_order(turns: Turns, names: list[str]) -> list[str]:
    """The order in which turns are given to those who ask for them in this one; readers ask behind."""
    order: list[str] = []

    def serve(name: str) -> None:
        assert turns.take_behind() if name.startswith("reader") else turns.take()
        order.append(name)
        turns.give_up()

    assert turns.take()
    threads = [threading.Thread(target=serve, args=(name,)) for name in names]
    for number, thread in enumerate(threads, start=1):
        thread.start()
        readers = sum(name.startswith("reader") for name in names[:number])
        until_waiting(turns, number - readers, readers)
    assert order == []
    turns.give_up()
    for thread in threads:
        thread.join(A_LONG_TIME)
    return order


def test_a_turn_that_nobody_has_is_there_at_once(make: Make) -> None:
    turns = make(A_LONG_TIME, NO_CROWD)
    for take in (turns.take, turns.take_behind) * 2:
        assert take()
        turns.give_up()


def test_turns_come_in_the_order_in_which_they_were_asked_for(make: Make) -> None:
    names = [f"writer {number}" for number in range(5)]
    assert in_order(make(A_LONG_TIME, NO_CROWD), names) == names


def test_who_takes_a_turn_behind_lets_all_others_go_first(make: Make) -> None:
    names = ["reader 1", "writer 1", "reader 2", "writer 2"]
    expected = ["writer 1", "writer 2", "reader 1", "reader 2"]
    assert in_order(make(A_LONG_TIME, NO_CROWD), names) == expected


def test_who_meets_a_crowd_waits_before_it_asks(make: Make) -> None:
    patience = 0.2
    turns = make(patience, 1)
    spent: list[float] = []

    def read() -> None:
        begun = time.monotonic()
        turns.take_behind()
        spent.append(time.monotonic() - begun)

    assert turns.take()
    writer = threading.Thread(target=turns.take)
    writer.start()
    until_waiting(turns, 1, 0)
    reader = threading.Thread(target=read)
    reader.start()
    for thread in (reader, writer):
        thread.join(A_LONG_TIME)
    assert spent[0] >= patience


def test_nobody_waits_for_ever_behind_one_who_is_slow(make: Make) -> None:
    turns = make(0.01, NO_CROWD)
    assert turns.take()
    assert not turns.take()  # patience has ended: there is no turn to give up
    assert not turns.take_behind()
    assert turns.waiting() == (0, 0)
    turns.give_up()
    assert turns.take()
    turns.give_up()


@pytest.mark.parametrize("patience", [0.0, 0.0005, 0.01])
def test_no_turn_is_lost_among_the_impatient(make: Make, patience: float) -> None:
    turns = make(patience, 3)
    working: list[int] = []
    most: list[int] = []

    def serve(number: int) -> None:
        take = turns.take_behind if number % 3 == 0 else turns.take
        for _ in range(300):
            if take():
                working.append(number)
                most.append(len(working))
                working.remove(number)
                turns.give_up()

    threads = [threading.Thread(target=serve, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert max(most) == 1, "two had a turn at once"
    assert turns.waiting() == (0, 0)
    assert turns.take()


def test_answers_are_sent_and_a_produce_request_that_came_has_a_turn(
    make: Make, pair: tuple[socket.socket, socket.socket]
) -> None:
    (ours, theirs), turns, room = pair, make(0.01, NO_CROWD), memoryview(bytearray(64))
    theirs.sendall(PRODUCE)
    assert turns.exchange(ours, b"answers", room, False) == (len(PRODUCE), True)
    assert bytes(room[: len(PRODUCE)]) == PRODUCE
    assert theirs.recv(64) == b"answers"
    assert not turns.take()
    turns.give_up()
    theirs.sendall(PRODUCE + METADATA)
    assert turns.exchange(ours, b"", room, False) == (len(PRODUCE) + len(METADATA), True)


@pytest.mark.parametrize(
    "data",
    [METADATA, PRODUCE[:-1], PRODUCE[:5], b"\0", b"\xff\xff\xff\xff" + PRODUCE[4:], METADATA + PRODUCE],
)
def test_what_is_no_whole_produce_request_has_none(
    make: Make, pair: tuple[socket.socket, socket.socket], data: bytes
) -> None:
    (ours, theirs), turns = pair, make(0.01, NO_CROWD)
    theirs.sendall(data)
    assert turns.exchange(ours, b"", memoryview(bytearray(64)), False) == (len(data), False)
    assert turns.take()


def test_a_turn_is_given_up_before_anything_is_waited_for(
    make: Make, pair: tuple[socket.socket, socket.socket]
) -> None:
    (ours, theirs), turns = pair, make(A_LONG_TIME, NO_CROWD)
    assert turns.take()
    answered: list[tuple[int, bool]] = []
    room = memoryview(bytearray(64))
    thread = threading.Thread(target=lambda: answered.append(turns.exchange(ours, b"", room, True)))
    thread.start()
    assert turns.take()
    theirs.sendall(PRODUCE)
    until_waiting(turns, 1, 0)
    turns.give_up()
    thread.join(A_LONG_TIME)
    assert answered == [(len(PRODUCE), True)]


def test_a_peer_that_is_gone_is_told_apart_from_one_that_is_silent(
    make: Make, pair: tuple[socket.socket, socket.socket]
) -> None:
    (ours, theirs), turns, room = pair, make(0.01, NO_CROWD), memoryview(bytearray(64))
    set_timeouts(ours, 10)
    with pytest.raises(BlockingIOError):
        turns.exchange(ours, b"", room, False)
    theirs.close()
    assert turns.exchange(ours, b"", room, False) == (0, False)
    assert turns.exchange(ours, b"answers", room, False) == (-errno.EPIPE, False)


def test_a_peer_that_does_not_read_its_answers_is_not_waited_for_for_ever(
    make: Make, pair: tuple[socket.socket, socket.socket]
) -> None:
    turns, room = make(0.01, NO_CROWD), memoryview(bytearray(64))
    set_timeouts(pair[0], 10)
    assert turns.exchange(pair[0], bytes(10_000_000), room, False) == (-errno.EAGAIN, False)


def test_a_turn_does_not_get_lost_with_a_socket_that_is_closed(make: Make) -> None:
    turns = make(0.01, NO_CROWD)
    assert turns.take()
    ours, theirs = socket.socketpair()
    ours.close()
    theirs.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        turns.exchange(ours, b"", memoryview(bytearray(64)), True)
    assert turns.take()
