"""What the calls of an `Admin` return: futures, under the names of Java's result classes.

A future is a `concurrent.futures.Future`: `result(seconds)`, `exception(seconds)`, `add_done_callback`; in a
coroutine, `await asyncio.wrap_future(future)`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import Future
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")


class Keyed(Generic[K, V]):
    """One future for each thing that was asked about, and `all()` for the whole."""

    def __init__(self, keys: Iterable[K]) -> None:
        self._values: dict[K, Future[V]] = {key: Future() for key in keys}
        self._all: Future[dict[K, V]] = Future()

    def values(self) -> dict[K, Future[V]]:
        return dict(self._values)

    def all(self) -> Future[dict[K, V]]:
        """Fails with the first error of any of them."""
        return self._all

    def result(self, timeout: float | None = None) -> dict[K, V]:
        """Wait for all: `all().result(timeout)`."""
        return self._all.result(timeout)

    def end(self, answers: Mapping[K, V | Exception]) -> None:
        """By the thread that asked. A key without an answer has failed."""
        found: dict[K, V] = {}
        failure: Exception | None = None
        for key, future in self._values.items():
            answer = answers.get(key, _missing(key))
            if isinstance(answer, Exception):
                failure = failure or answer
                future.set_exception(answer)
            else:
                found[key] = answer
                future.set_result(answer)
        if failure is not None:
            self._all.set_exception(failure)
        else:
            self._all.set_result(found)

    def fail(self, error: Exception) -> None:
        for future in self._values.values():
            future.set_exception(error)
        self._all.set_exception(error)


def _missing(key: object) -> Exception:
    from penstock.client.api.exceptions import ApiException

    return ApiException(f"The broker's answer does not speak of {key!r}.")


def mapped(source: Future[T], change: Callable[[T], V]) -> Future[V]:
    """A future of a part of another one's result."""
    made: Future[V] = Future()

    def tell(done: Future[T]) -> None:
        error = done.exception()
        if error is not None:
            made.set_exception(error)
            return
        try:
            made.set_result(change(done.result()))
        except Exception as failure:
            made.set_exception(failure)

    source.add_done_callback(tell)
    return made
