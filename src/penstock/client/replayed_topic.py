"""`ReplayedTopic`: a state that several processes share through one compacted topic, without a leader.

    topic = ReplayedTopic(settings, codec, state)
    topic.start()                  reads everything that was written before
    topic.view.state               the state as of now: immutable, read without a lock from any thread
    topic.change(decide)           decides on the state, appends the records, returns when they were read back
    topic.change_all(decides)      the same for several callers at once, for the time that one of them takes
    topic.catch_up()               reads what other processes have written until now
    topic.close()

The caller brings a codec of its records and a state whose `replay` returns the next state. Nothing else
changes the state, so every process that has read the same records has the same state. Any process may write:
`fencing` decides which of two decisions counts, and the other is made again on the newer state.

A record that lost stays in the log. Compaction would keep it as the last value of its key, so the next write
of any process restores the key; without a write, an idle process does it after a moment.

Used by the Schema Registry. Everything here blocks; asynchronous services call it from a thread.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, Protocol, Self, TypeVar

from penstock.client.admin import Admin
from penstock.client.errors import ClientError, NotReadBack, Overtaken, RecordTooLarge, ReplayFailed
from penstock.client.fencing import BEFORE_ALL, HEADER, THIS_RECORD, Fence, Mark, read_mark
from penstock.client.librdkafka import Connection
from penstock.client.replayed_settings import ReplayedTopicSettings, end_of, ensure_topic
from penstock.client.sending import NewRecord, Produced, Sender
from penstock.client.stream import Stream

POLL_S: Final = 0.5
ATTEMPTS: Final = 50
"""How often a change is decided again because another process wrote first."""
REST_WITHIN_S: Final = 1.0
"""How long a writer waits for the rest of another process's decision. That process may have died."""
RESTORE_AFTER_S: Final = 2.0
"""How long keys of decisions that lost wait for the next write before an idle process restores them."""
JOIN_S: Final = 10.0
_log = logging.getLogger(__name__)

R = TypeVar("R")
A = TypeVar("A")


class Codec(Protocol[R]):
    """How a record stands in the topic. The key decides what compaction keeps."""

    def encode(self, record: R) -> tuple[bytes, bytes | None]: ...

    def decode(self, key: bytes | None, value: bytes | None, timestamp_ms: int | None) -> R | None:
        """None for what is no record of this topic; it is passed over, with a warning."""


class State(Protocol[R]):
    """An immutable value. Both methods are pure."""

    def replay(self, record: R) -> Self: ...

    def record_of(self, record: R) -> R:
        """The record that the log must hold last under this record's key, for this state to come of it."""


S = TypeVar("S", bound="State[Any]")


class Decision(NamedTuple, Generic[R, A]):
    """Records to append in this order, and the answer that holds once they count."""

    records: Sequence[R]
    answer: A


@dataclass(frozen=True)
class View(Generic[S]):
    """The state, and which decision made it."""

    state: S
    latest: int = BEFORE_ALL
    complete: bool = True
    """False while records of the latest decision are still to come."""


class ReplayedTopic(Generic[R, S]):
    def __init__(
        self,
        settings: ReplayedTopicSettings,
        codec: Codec[R],
        state: S,
        on_failure: Callable[[str], None] | None = None,
    ) -> None:
        """`on_failure` is called once, from the reader's thread, when this process can replay no more: the
        topic has lost records, or a record broke the state. Only a new start helps then.
        """
        self.view: View[S] = View(state)
        self.failure = ""
        self._settings = settings
        self._codec = codec
        self._on_failure = on_failure
        self._writing = threading.Lock()
        """Held for a whole change: one decision of this process is under way at a time."""
        self._replayed = threading.Condition()
        """Guards the fields below, and `view` for writers. Never held while something blocks."""
        self._fence = Fence()
        self._next_offset = 0
        self._lost: dict[bytes, R] = {}
        """By key, the last record that did not count, until a later one of that key counts."""
        self._lost_since: float | None = None
        self._counted: dict[int, bool] = {}
        """Of the own decision that is under way: which offsets counted."""
        self._own = b""
        self._stopped = threading.Event()
        self._connection = Connection(settings.bootstrap_servers, settings.timeout_s, settings.client)
        self._sender: Sender | None = None
        self._admin: Admin | None = None
        name = f"{settings.topic}-reader"
        self._reader = threading.Thread(target=self._read, name=name, daemon=True)

    def start(self) -> None:
        """Makes the topic when it is missing; returns when everything written before is replayed."""
        self._make_sender()  # it asks for its producer id meanwhile, which takes librdkafka a second
        self._next_offset, end = ensure_topic(self._settings)
        self._reader.start()
        self._wait_for(end, self._settings.start_timeout_s)
        if self._lost:
            self._restore()

    def change(self, decide: Callable[[S], Decision[R, A]]) -> A:
        """Decides until the decision counts; returns its answer when its records were read back.

        `decide` may be called several times, and raises to refuse. It has the state to itself for as long as
        it takes: readers are not kept waiting.
        """
        with self._writing:
            for _ in range(ATTEMPTS):
                view = self._complete_view()
                records, answer = decide(view.state)
                if not (records or self._lost) or self._append(records, view.latest):
                    return answer
        raise Overtaken(self._settings.topic, ATTEMPTS)

    def change_all(self, decides: Sequence[Callable[[S], Decision[R, Any]]]) -> list[Any]:
        """The answers of several changes that are written together, each made on the state that those before
        it leave. A change that was refused has its exception instead, and the others go on.

        They are one decision of the log: all of them count, or all are decided again. After a crash in the
        middle, those whose records stand first count.
        """
        try:
            with self._writing:
                for _ in range(ATTEMPTS):
                    view = self._complete_view()
                    records, answers = _decided(decides, view.state)
                    if not (records or self._lost) or self._append(records, view.latest):
                        return answers
        except RecordTooLarge:  # nothing was sent, and only one of them may be at fault
            return [self._changed(decide) for decide in decides]
        raise Overtaken(self._settings.topic, ATTEMPTS)

    def _changed(self, decide: Callable[[S], Decision[R, Any]]) -> Any:
        try:
            return self.change(decide)
        except Exception as error:
            return error

    def catch_up(self) -> bool:
        """Read what other processes have written until now. False where nothing was new."""
        if self._admin is None:
            settings = self._settings
            self._admin = Admin(
                settings.bootstrap_servers, timeout_s=settings.timeout_s, settings=settings.client
            )
        end = end_of(self._admin, self._settings)
        if end <= self._next_offset:
            return False
        self._wait_for(end, self._settings.timeout_s)
        return True

    def close(self) -> None:
        """Ends the reader. A change that is under way fails."""
        self._stopped.set()
        with self._replayed:
            self.failure = self.failure or f"{self._settings.topic} was closed"
            self._replayed.notify_all()
        if self._reader.is_alive() and self._reader is not threading.current_thread():
            self._reader.join(JOIN_S)

    # -- writing

    def _complete_view(self) -> View[S]:
        with self._replayed:
            self._replayed.wait_for(lambda: self.view.complete or bool(self.failure), REST_WITHIN_S)
            if self.failure:
                raise ReplayFailed(self.failure)
            return self.view

    def _append(self, records: Sequence[R], after: int) -> bool:
        """False when another process's decision came between: nothing has changed then."""
        decision = uuid.uuid4().bytes
        with self._replayed:
            restored = [self.view.state.record_of(record) for record in self._lost.values()]
            self._own, self._counted = decision, {}
        encoded = [self._codec.encode(record) for record in (*restored, *records)]
        if not encoded:  # another process has restored the keys this moment
            return True
        for key, value in encoded:
            if (size := len(key) + len(value or b"")) > self._settings.record_bytes_max:
                raise RecordTooLarge(self._settings.topic, size, self._settings.record_bytes_max)
        try:
            offsets = self._send(encoded[:1], Mark(decision, after, THIS_RECORD, len(encoded) - 1))
            if len(encoded) > 1:
                offsets += self._send(encoded[1:], Mark(decision, after, offsets[0], len(encoded) - 2))
        except ClientError:
            self._make_sender()  # a producer may be broken for good; nothing of this decision is sent again
            raise
        self._wait_for(max(offsets) + 1, self._settings.timeout_s)
        with self._replayed:
            return all(self._counted.get(offset, False) for offset in offsets)

    def _send(self, encoded: Sequence[tuple[bytes, bytes | None]], mark: Mark) -> list[int]:
        """The offsets of the records, when the broker has all of them."""
        assert self._sender is not None
        offsets: list[int] = []

        def delivered(where: Produced) -> None:
            offsets.append(where.offset)

        for i, (key, value) in enumerate(encoded):
            header = mark._replace(following=mark.following - i).encode()
            self._sender.send(self._settings.topic, NewRecord(value, key, ((HEADER, header),), 0), delivered)
        self._sender.flush()
        return offsets

    def _make_sender(self) -> None:
        self._sender = Sender(self._connection, linger_ms=0, max_in_flight=1)

    def _restore(self) -> None:
        """Writes the keys of decisions that lost once more, unless another process was faster."""
        with self._writing:
            while self._lost and not self._append((), self._complete_view().latest):
                pass

    def _wait_for(self, offset: int, timeout_s: float) -> None:
        """Until every record before the offset is replayed."""
        with self._replayed:
            done = self._replayed.wait_for(lambda: self._next_offset >= offset or self.failure, timeout_s)
            if self.failure:
                raise ReplayFailed(self.failure)
            if not done:
                raise NotReadBack(self._settings.topic, offset, timeout_s)

    # -- reading

    def _read(self) -> None:
        """The reader's thread. It outlives every absence of the broker."""
        starts = {0: self._next_offset}
        with Stream(self._connection, self._settings.topic, starts, complete=True) as stream:
            while not self._stopped.is_set():
                try:
                    messages = stream.poll(POLL_S)
                    self._replay(messages, stream.ends.get(0, 0))
                    self._restore_if_idle()
                except ClientError as error:
                    if stream.has_gap:
                        self._fail(f"{self._settings.topic} has lost records that this process had not read")
                        return
                    _log.warning("cannot read %s: %s", self._settings.topic, error)
                    self._stopped.wait(POLL_S)  # librdkafka connects again by itself
                except Exception as error:
                    self._fail(f"replaying {self._settings.topic} failed: {error!r}")
                    raise

    def _fail(self, why: str) -> None:
        with self._replayed:
            self.failure = self.failure or why
            self._replayed.notify_all()
        _log.error("%s", why)
        if self._on_failure is not None:
            self._on_failure(why)

    def _replay(self, messages: Sequence[Any], end: int) -> None:
        """`end` is where the log ended when it was read to its end: behind records that no reader sees."""
        state = self.view.state
        with self._replayed:
            for message in messages:
                state = self._replay_one(state, message)
                self._next_offset = message.offset + 1
            self._next_offset = max(self._next_offset, end)
            if messages:
                self.view = View(state, self._fence.latest, self._fence.complete)
            self._lost_since = None if not self._lost else self._lost_since or time.monotonic()
            self._replayed.notify_all()

    def _replay_one(self, state: S, message: Any) -> S:
        record = self._codec.decode(message.key, message.value, message.timestamp_ms)
        if record is None:
            _log.warning("offset %d of %s is no record of it", message.offset, self._settings.topic)
            return state
        mark = read_mark(message.headers)
        counts = self._fence.passes(message.offset, mark)
        if mark is not None and mark.decision == self._own:
            self._counted[message.offset] = counts
        if counts:
            self._lost.pop(message.key, None)
            return state.replay(record)
        self._lost[message.key] = record
        return state

    def _restore_if_idle(self) -> None:
        if self._lost_since is None or time.monotonic() - self._lost_since < RESTORE_AFTER_S:
            return
        self._lost_since = time.monotonic()
        threading.Thread(target=self._restore_aside, name="restore", daemon=True).start()

    def _restore_aside(self) -> None:
        try:
            self._restore()
        except ClientError as error:
            _log.warning("keys of %s that lost are restored later: %s", self._settings.topic, error)


def _decided(decides: Sequence[Callable[[S], Decision[R, Any]]], state: S) -> tuple[list[R], list[Any]]:
    records: list[R] = []
    answers: list[Any] = []
    for decide in decides:
        try:
            decision = decide(state)
        except Exception as error:
            answers.append(error)
            continue
        for record in decision.records:
            state = state.replay(record)
        records += decision.records
        answers.append(decision.answer)
    return records, answers
