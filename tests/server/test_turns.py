"""Turns are given in order, nobody waits for one for ever, and none is lost."""

from __future__ import annotations

import threading

import pytest

from penstock.server import turns as module
from penstock.server.turns import Turns


def waiting(turns: Turns, count: int, *, behind: bool = False) -> None:
    """Come back when so many wait for a turn."""
    deadline = threading.Event()
    while len(turns._behind if behind else turns._waiting) < count:
        assert not deadline.wait(0.001)


def test_a_turn_that_nobody_has_is_there_at_once() -> None:
    turns = Turns()
    for _ in range(3):
        assert turns.take()
        turns.give_up()


def test_turns_come_in_the_order_in_which_they_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 30.0)
    turns = Turns()
    order: list[int] = []

    def serve(number: int) -> None:
        assert turns.take()
        order.append(number)
        turns.give_up()

    assert turns.take()
    threads = [threading.Thread(target=serve, args=(number,)) for number in range(5)]
    for number, thread in enumerate(threads):
        thread.start()
        waiting(turns, number + 1)
    assert order == []
    turns.give_up()
    for thread in threads:
        thread.join(30)
    assert order == [0, 1, 2, 3, 4]


def test_who_takes_a_turn_behind_lets_all_others_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 30.0)
    turns = Turns()
    order: list[str] = []

    def serve(name: str) -> None:
        assert turns.take_behind() if name == "reader" else turns.take()
        order.append(name)
        turns.give_up()

    assert turns.take()
    threads = [threading.Thread(target=serve, args=(name,)) for name in ("reader", "writer", "another")]
    threads[0].start()
    waiting(turns, 1, behind=True)
    for number, thread in enumerate(threads[1:], start=1):
        thread.start()
        waiting(turns, number)
    turns.give_up()
    for thread in threads:
        thread.join(30)
    assert order == ["writer", "another", "reader"]


def test_who_takes_a_turn_behind_has_it_at_once_where_nobody_else_has_one() -> None:
    turns = Turns()
    assert turns.take_behind()
    turns.give_up()
    assert turns.take()


def test_who_meets_a_crowd_waits_before_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(module.time, "sleep", pauses.append)
    monkeypatch.setattr(module, "CROWD", 2)
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 30.0)
    turns = Turns()
    assert turns.take()
    threads = [threading.Thread(target=lambda: turns.take() and turns.give_up()) for _ in range(2)]
    for thread in threads:
        thread.start()
    waiting(turns, 2)
    reader = threading.Thread(target=lambda: turns.take_behind() and turns.give_up())
    reader.start()
    waiting(turns, 1, behind=True)
    turns.give_up()
    for thread in (*threads, reader):
        thread.join(30)
    assert pauses == [30.0]


def test_nobody_waits_for_ever_behind_one_who_is_slow() -> None:
    turns = Turns()
    assert turns.take()
    assert not turns.take()  # patience has ended: there is no turn to give up
    turns.give_up()
    assert turns.take()
    turns.give_up()


def test_no_turn_is_lost_among_the_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.0005)
    turns = Turns()

    def serve() -> None:
        for _ in range(300):
            if turns.take():
                turns.give_up()

    threads = [threading.Thread(target=serve) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not turns._waiting
    assert turns.take()
