"""An answer that is not there yet. A shard completes it; a request in purgatory watches it."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from penstock.protocol.errors import KafkaError
from penstock.replication.waiters import Waiter

T = TypeVar("T")
U = TypeVar("U")


class Promise(Generic[T]):
    """Completed once, with a value or an error; what comes later is ignored. Waiters are woken once."""

    __slots__ = ("_done", "_error", "_lock", "_value", "_waiters")

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiters: list[Waiter] = []
        self._done = False
        self._value: T | None = None
        self._error: KafkaError | None = None

    @property
    def done(self) -> bool:
        return self._done

    @property
    def broken(self) -> bool:
        """Whether it was done with an error."""
        return self._error is not None

    def complete(self, value: T) -> None:
        self._settle(value, None)

    def fail(self, error: KafkaError) -> None:
        self._settle(None, error)

    def result(self) -> T:
        """The value, or the error raised. Only of a promise that is done."""
        assert self._done, "the promise is not done"
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]

    def watch(self, waiter: Waiter) -> None:
        with self._lock:
            if not self._done:
                self._waiters.append(waiter)
                return
        waiter.wake()

    def unwatch(self, waiter: Waiter) -> None:
        with self._lock:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def _settle(self, value: T | None, error: KafkaError | None) -> None:
        with self._lock:
            if self._done:
                return
            self._value, self._error, self._done = value, error, True
            waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.wake()


class _Mapping(Generic[T, U]):
    """Waits for one promise and keeps another."""

    def __init__(self, source: Promise[T], target: Promise[U], convert: Callable[[T], U]) -> None:
        self._source, self._target, self._convert = source, target, convert

    def wake(self) -> None:
        try:
            self._target.complete(self._convert(self._source.result()))
        except KafkaError as error:
            self._target.fail(error)


def mapped(promise: Promise[T], convert: Callable[[T], U]) -> Promise[U]:
    """A promise of what `convert` makes of the other's value, in the thread that keeps it; a KafkaError of
    either breaks it."""
    target: Promise[U] = Promise()
    promise.watch(_Mapping(promise, target, convert))
    return target


def done(value: T) -> Promise[T]:
    promise: Promise[T] = Promise()
    promise.complete(value)
    return promise


def failed(error: KafkaError) -> Promise[T]:
    promise: Promise[T] = Promise()
    promise.fail(error)
    return promise
