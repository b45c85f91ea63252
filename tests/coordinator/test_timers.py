"""Timers: in order, at most one for each key, gone when cancelled, bounded in memory."""

from __future__ import annotations

from penstock.coordinator.timers import Timers


def _due(timers: Timers[str], now: float) -> list[str]:
    found = []
    while (due := timers.pop_due(now)) is not None:
        found.append(due.task)
    return found


def test_what_is_due_comes_in_the_order_of_its_deadlines() -> None:
    timers: Timers[str] = Timers()
    for deadline, name in [(3.0, "c"), (1.0, "a"), (2.0, "b"), (9.0, "late")]:
        timers.schedule(0, name, deadline, name)
    assert timers.next_deadline() == 1.0
    assert _due(timers, 3.0) == ["a", "b", "c"]
    assert timers.next_deadline() == 9.0


def test_scheduling_a_key_again_replaces_its_timer() -> None:
    timers: Timers[str] = Timers()
    timers.schedule(0, "k", 1.0, "first")
    timers.schedule(0, "k", 5.0, "second")
    assert _due(timers, 2.0) == []
    assert timers.next_deadline() == 5.0
    assert _due(timers, 5.0) == ["second"]


def test_a_cancelled_timer_never_comes_and_its_deadline_is_forgotten() -> None:
    timers: Timers[str] = Timers()
    timers.schedule(0, "a", 1.0, "a")
    timers.schedule(0, "b", 2.0, "b")
    timers.cancel(0, "a")
    assert timers.next_deadline() == 2.0
    timers.cancel_all(0)
    assert timers.next_deadline() is None
    assert len(timers) == 0


def test_equal_keys_of_two_owners_are_two_timers() -> None:
    timers: Timers[str] = Timers()
    timers.schedule(0, "k", 1.0, "mine")
    timers.schedule(1, "k", 1.0, "yours")
    timers.cancel_all(0)
    assert _due(timers, 1.0) == ["yours"]


def test_a_timer_that_is_always_renewed_does_not_fill_the_memory() -> None:
    timers: Timers[str] = Timers()
    for beat in range(100_000):
        timers.schedule(0, "session", beat + 45.0, "expired")
    assert len(timers._heap) < 3_000
    assert _due(timers, 99_999 + 45.0) == ["expired"]


def test_all_deadlines_are_postponed_together_and_cancelled_timers_stay_cancelled() -> None:
    timers: Timers[str] = Timers()
    for deadline, name in [(1.0, "a"), (2.0, "b"), (3.0, "c")]:
        timers.schedule(0, name, deadline, name)
    timers.cancel(0, "b")
    timers.postpone(10.0)
    assert _due(timers, 10.9) == []
    assert _due(timers, 13.0) == ["a", "c"]


def test_whoever_drives_the_timers_is_woken_when_a_deadline_comes_closer() -> None:
    woken = []
    timers: Timers[str] = Timers()
    timers.on_earlier(lambda: woken.append(True))
    timers.schedule(0, "a", 5.0, "a")
    timers.schedule(0, "b", 9.0, "b")
    assert len(woken) == 1
    timers.schedule(0, "c", 1.0, "c")
    assert len(woken) == 2
