"""Waiting for a promise in a thread that has nothing else to do: the broker's own, never a connection's."""

from __future__ import annotations

from threading import Event
from typing import TypeVar

from penstock.coordinator.promise import Promise
from penstock.protocol.errors import ErrorCode, KafkaError

T = TypeVar("T")


class _Sleeper:
    def __init__(self) -> None:
        self.woken = Event()

    def wake(self) -> None:
        self.woken.set()


def wait_for(promise: Promise[T], seconds: float) -> T:
    """What was promised; KafkaError when it was refused or is late."""
    sleeper = _Sleeper()
    promise.watch(sleeper)
    if not sleeper.woken.wait(seconds):
        promise.unwatch(sleeper)
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "no answer in time")
    return promise.result()
