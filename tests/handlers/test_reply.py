"""What a handler returns."""

from __future__ import annotations

from threading import RLock

import pytest

from penstock.handlers.reply import Reply, Wait
from penstock.replication.waiters import LookedAt, Waiters


class Woken:
    count = 0

    def wake(self) -> None:
        self.count += 1


def test_a_wait_is_resumed_once() -> None:
    wait = Wait((), 0.0, lambda expired: Reply([b"done"]))
    assert wait.resume(False) == Reply([b"done"])
    with pytest.raises(AssertionError, match="resumed before"):
        wait.resume(True)


def test_a_wait_within_another_one_is_resumed_once() -> None:
    inner = Wait((), 1.0, lambda expired: Reply([b"done"]), gives_way=True)
    outer = inner.wrapped_by(inner.resume)
    assert (outer.deadline, outer.gives_way) == (1.0, True)
    outer.resume(False)
    with pytest.raises(AssertionError, match="resumed before"):
        inner.resume(False)


def test_a_change_between_the_look_and_the_watch_wakes_at_once() -> None:
    waiters, woken = Waiters(RLock()), Woken()
    looked_at = LookedAt([waiters], [waiters.changes])
    waiters.take()
    looked_at.watch(woken)
    assert woken.count == 1


def test_without_a_change_since_the_look_nothing_wakes() -> None:
    waiters, woken = Waiters(RLock()), Woken()
    waiters.take()
    looked_at = LookedAt([waiters], [waiters.changes])
    looked_at.watch(woken)
    assert woken.count == 0
    assert waiters.take() == [woken]
