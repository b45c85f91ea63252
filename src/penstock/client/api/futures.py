"""The future of one record: resolved by the producer's thread, cheap enough for a million of them.

It has the methods of `concurrent.futures.Future` that make sense for a record which is on its way: `result`,
`exception`, `done`, `add_done_callback`. A record that was given to the network cannot be called back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from threading import Condition
from typing import Any, Final

from penstock.client.api.exceptions import KafkaException, TimeoutException, from_librdkafka
from penstock.client.api.records import RecordMetadata
from penstock.client.api.sent import Report, metadata_of, waiting

_log = logging.getLogger(__name__)
_RESOLVED: Final = Condition()
"""One for all: waiting for a single record is rare, so each future does not need its own lock."""


class RecordFuture(Report):
    """The library calls it with its report, which ends it."""

    __slots__ = ()

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Where the record is; raises what became of it instead."""
        self._wait(timeout)
        if self._error is not None:
            raise self._error
        return self._metadata()

    get = result  # Java's name

    def exception(self, timeout: float | None = None) -> Exception | None:
        self._wait(timeout)
        return self._error

    def add_done_callback(self, callback: Callable[[RecordFuture], Any]) -> None:
        """Called once, by the producer's thread, or at once if the future is done."""
        self._track()
        with _RESOLVED:
            self._callbacks = [*(self._callbacks or ()), callback]
        if self.done():  # perhaps since before: then `_tell` has not seen it
            self._call_back()

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        """In a coroutine: `metadata = await producer.send(…)`. A cancelled wait does not recall the
        record."""
        import asyncio

        loop = asyncio.get_running_loop()
        resolved: asyncio.Future[None] = loop.create_future()

        def tell() -> None:
            if not resolved.done():
                resolved.set_result(None)

        self.add_done_callback(lambda _: loop.call_soon_threadsafe(tell))
        yield from resolved.__await__()
        return self.result(0)

    def end(self, metadata: RecordMetadata | None, error: KafkaException | None) -> None:
        """Interceptors hear of it first, then the future, then the callback."""
        self._owner.on_report(metadata, error)
        if error is not None:
            self._track()
        self._report, self._error = metadata, error
        self._tell()
        if self._callback is not None:
            try:
                self._callback(metadata, error)
            except Exception:
                _log.exception("a callback of a record failed")

    def _ended(self, error: Any, message: Any) -> None:
        if error is None:
            self.end(metadata_of(message), None)
        else:
            self.end(None, from_librdkafka(error, f"write to topic {message.topic()!r}"))

    def _tell(self) -> None:
        """The lock is taken only where somebody waits or has left a callback: both look at the result again
        after they said so."""
        if waiting:
            with _RESOLVED:
                _RESOLVED.notify_all()
        if self._callbacks is not None:
            self._call_back()

    def _call_back(self) -> None:
        with _RESOLVED:
            callbacks, self._callbacks = self._callbacks, None
        for callback in callbacks or ():
            try:
                callback(self)
            except Exception:
                _log.exception("a callback of a record failed")

    def _wait(self, timeout: float | None) -> None:
        if self.done():
            return
        with _RESOLVED:
            waiting.append(None)
            self._owner.wake()
            try:
                if not _RESOLVED.wait_for(self.done, timeout):
                    raise TimeoutException(f"The record has no answer after {timeout:g} s.")
            finally:
                waiting.pop()


class WouldBlock(Exception):
    """A record cannot be queued without waiting for metadata or for room. `go_on` waits, and queues it."""

    def __init__(self, go_on: Callable[[], RecordFuture]) -> None:
        super().__init__()
        self.go_on = go_on
