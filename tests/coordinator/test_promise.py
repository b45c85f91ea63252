"""Promises: done once, and whoever watches is woken once."""

from __future__ import annotations

import pytest

from penstock.coordinator.promise import Promise
from penstock.protocol.errors import ErrorCode, KafkaError


class _Waiter:
    def __init__(self) -> None:
        self.woken = 0

    def wake(self) -> None:
        self.woken += 1


def test_a_watcher_is_woken_when_the_promise_is_done_and_only_then() -> None:
    promise: Promise[int] = Promise()
    early, gone = _Waiter(), _Waiter()
    promise.watch(early)
    promise.watch(gone)
    promise.unwatch(gone)
    assert (early.woken, promise.done) == (0, False)
    promise.complete(7)
    promise.complete(8)
    assert (early.woken, gone.woken, promise.result()) == (1, 0, 7)


def test_who_comes_after_the_answer_is_woken_at_once() -> None:
    promise: Promise[int] = Promise()
    promise.complete(7)
    late = _Waiter()
    promise.watch(late)
    assert late.woken == 1


def test_an_error_is_raised_to_whoever_asks() -> None:
    promise: Promise[int] = Promise()
    promise.fail(KafkaError(ErrorCode.NOT_COORDINATOR))
    promise.complete(7)
    with pytest.raises(KafkaError) as error:
        promise.result()
    assert error.value.code is ErrorCode.NOT_COORDINATOR
