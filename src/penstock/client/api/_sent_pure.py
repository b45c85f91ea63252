"""The part of sending that each record passes: counted, handed to librdkafka, and ended by its report.

Two twins have it: `_sent_native` (Cython), which is there when a compiler was found at installation, and this
one. `penstock.client.api.sent` chooses.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from penstock.client.api.records import Headers, ProducerRecord, RecordMetadata

if TYPE_CHECKING:
    from penstock.client.api.futures import RecordFuture

OVERHEAD_BYTES: Final = 61 + 21 + 10
"""Of a batch with one record at most: header, record's fields, and the lengths of key and value."""
KEPT_BYTES: Final = 1024
"""A report holds the record's value. One that is larger gives it up, so that a kept future stays small."""
ANY_PARTITION: Final = -1
BURST: Final = 256
"""Records after which a sender looks whether it sends so fast that it should serve reports itself."""

Callback = Callable[[RecordMetadata | None, Any], Any]
"""Called with where the record is, or with the `KafkaException`."""

waiting: Final[list[None]] = []
"""One item for each thread that waits for a future. Read without a lock."""


class Wave:
    """Records between two calls of `flush`. Many threads count `sent`; one serves reports and counts
    `resolved`."""

    __slots__ = ("_lock", "resolved", "sent")

    def __init__(self) -> None:
        self.sent = 0
        self.resolved = 0
        self._lock = Lock()

    def begin(self) -> None:
        with self._lock:
            self.sent += 1

    def take_back(self) -> None:
        with self._lock:
            self.sent -= 1


class Report:
    """A future as the library's report ends it. `done` says whether it came; its subclass has the rest."""

    __slots__ = ("_callback", "_callbacks", "_error", "_owner", "_report", "_wave")

    _report: Any  # the metadata, or what it is made of when somebody asks
    _error: Exception | None
    _callbacks: list[Any] | None
    _callback: Any
    _owner: Any  # the producer: `hears_all`, and `on_report(metadata, error)`

    def __init__(self, owner: Any = None, callback: Any = None, wave: Wave | None = None) -> None:
        self._report = self._error = self._callbacks = None
        self._owner = owner
        self._callback = callback
        self._wave = wave

    def done(self) -> bool:
        return self._report is not None or self._error is not None

    def begin(self, sender: Sends) -> Wave:
        """Count it as sent, with all that are sent now. An attempt that failed has taken itself back."""
        wave = self._wave = sender.wave
        wave.begin()
        return wave

    def __call__(self, error: Any, message: Any) -> None:
        owner = self._owner
        if (
            owner._serves_inline
            and (self._callback is not None or self._callbacks is not None or owner.hears_all)
        ):  # fmt: skip
            owner.deferred.append((self, error, message))  # code of the user's is not for a sender's thread
            return
        if error is not None or self._callback is not None or owner.hears_all:
            self._ended(error, message)
        else:
            if len(message) > KEPT_BYTES:
                message.set_value(None)
            self._report = message
            if waiting or self._callbacks is not None:
                self._tell()
        self._wave.resolved += 1  # type: ignore[union-attr]  # at the end: a flush that sees it returns

    def _ended(self, error: Any, message: Any) -> None:
        raise NotImplementedError

    def _tell(self) -> None:
        raise NotImplementedError

    def _track(self) -> None:
        """From now on it may be part of a cycle of references. The native twin hides others from the
        garbage collector."""

    def _metadata(self) -> RecordMetadata:
        """Of a future that is done and has no error."""
        report = self._report
        if type(report) is not RecordMetadata:
            report = self._report = metadata_of(report)
        return report


class Sends:
    """The short way of `Producer.send`: bytes to known topics, without a serializer, an interceptor or a
    partitioner of the user's. Everything else goes the long way, which the producer has."""

    def __init__(self) -> None:
        self.wave = Wave()
        self.known_until: dict[str, float] = {}
        """Topics whose metadata is there, each with the monotonic time at which that is too old."""
        self._plain = False
        """Whether the short way is open: the producer has nothing of the user's, and is not closed."""
        self._idle = False
        """The serving thread sleeps, or is about to; `_work` wakes it."""
        self.hears_all = False
        """Interceptors see every acknowledgement."""
        self._serves_inline = False
        """A sender's thread serves reports now; `_polling` is held. What the user's code must see is kept in
        `deferred` for the producer's thread."""
        self.deferred: deque[tuple[Report, Any, Any]] = deque()
        self._burst = 0
        """Records since the last look."""
        self._largest = 0
        self._make: Any = None
        self._produce: Any = None
        self._work: Any = None

    def send(
        self,
        topic: str | ProducerRecord,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        headers: Headers | Mapping[str, bytes | None] | None = None,
        timestamp: int | None = None,
        callback: Callback | None = None,
    ) -> RecordFuture:
        """Queue a record and return its future. Blocks for `max.block.ms` at most, for the topic's metadata
        or for room."""
        if (
            self._plain
            and headers is None
            and partition is None
            and timestamp is None
            and (value is None or type(value) is bytes)
            and (key is None or type(key) is bytes)
            and type(topic) is str
        ):
            size = OVERHEAD_BYTES + (len(value) if value else 0) + (len(key) if key else 0)
            now = time.monotonic()
            if size <= self._largest and self.known_until.get(topic, 0.0) > now:
                wave = self.wave
                wave.begin()
                future: RecordFuture = self._make(self, callback, wave)
                try:
                    self._produce(topic, value, key, ANY_PARTITION, future)
                except Exception:  # the buffer is full, or worse: the long way meets it again
                    wave.take_back()
                else:
                    if self._idle:
                        self._work.set()
                    self._burst += 1
                    if self._burst >= BURST:
                        self._serve_burst(now)
                    return future
        return self._send_long(topic, value, key, partition, headers, timestamp, callback)

    def _serve_burst(self, now: float) -> None:
        raise NotImplementedError

    def _send_long(
        self,
        topic: str | ProducerRecord,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        headers: Headers | Mapping[str, bytes | None] | None = None,
        timestamp: int | None = None,
        callback: Callback | None = None,
        *,
        blocking: bool = True,
    ) -> RecordFuture:
        raise NotImplementedError


def metadata_of(message: Any) -> RecordMetadata:
    """What a report of the library says."""
    kind, timestamp = message.timestamp()
    offset = message.offset()
    return RecordMetadata(
        message.topic(), message.partition(), -1 if offset is None else offset, timestamp if kind else -1
    )
