"""What waits for several promises."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.coordinator.promise import Promise
from penstock.handlers.promised import reply_when_done
from penstock.handlers.reply import Reply, Wait
from tests.coordinator.manual_clock import ManualClock


def test_of_several_promises_only_those_that_are_not_done_are_watched() -> None:
    promises: list[Promise[int]] = [Promise(), Promise(), Promise()]
    settings = SimpleNamespace(offsets_commit_timeout_ms=700)
    broker: Any = SimpleNamespace(clock=ManualClock(), settings=settings)
    promises[0].complete(1)
    waiting = reply_when_done(broker, promises, lambda: b"done")
    assert isinstance(waiting, Wait)
    assert waiting.deadline == broker.clock.monotonic() + 0.7
    assert list(waiting.watched) == promises[1:]
    promises[1].complete(1)
    # A waiter would be woken at once by one that is done, and so until the last one is.
    waiting = waiting.resume(False)
    assert isinstance(waiting, Wait)
    assert list(waiting.watched) == promises[2:]
    promises[2].complete(1)
    assert isinstance(waiting.resume(False), Reply)
