"""What a decision of a coordinator consists of, and the context that is given to the code that decides."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from penstock.clock import Clock
from penstock.coordinator.promise import Promise
from penstock.coordinator.shard_log import Entry, Marker
from penstock.coordinator.timers import Timers
from penstock.protocol.errors import KafkaError
from penstock.records.record import Record
from penstock.storage.verification import Guard

T = TypeVar("T")


class Producer(NamedTuple):
    """The transaction on whose behalf records are written."""

    producer_id: int
    producer_epoch: int
    guard: Guard | None = None
    """Of the verification that the partition is in the transaction (KIP-890)."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Records that are written as one batch: all of them or none, and replayed when they are written.

    `after` follows their replay; `failed` comes in its place when they could not be written. Without records
    there is nothing that could fail, and `after` follows at once.
    """

    records: tuple[Record, ...] = ()
    after: Callable[[], None] | None = None
    failed: Callable[[KafkaError], None] | None = None
    producer: Producer | None = None


NOTHING = Decision()
Operation = Callable[[], Decision]


class PromisedAnswer(NamedTuple):
    """A promise and what it will be completed with."""

    promise: Promise[Any]
    value: Any = None
    error: KafkaError | None = None

    def give(self) -> None:
        if self.error is None:
            self.promise.complete(self.value)
        else:
            self.promise.fail(self.error)


class State(Protocol):
    """What a shard holds. Changed by replay, apart from what no restart needs to remember."""

    def replay(self, entry: Entry) -> None: ...

    def replay_marker(self, marker: Marker) -> None: ...

    def on_loaded(self) -> None:
        """Everything is replayed, and the shard begins to answer: start the timers."""
        ...

    def on_unloaded(self, error: KafkaError) -> None:
        """The shard is no longer this broker's: requests that wait are failed, through `Context.fail`."""
        ...


class _Action(NamedTuple):
    """Watches a promise, and acts unless it was broken."""

    promise: Promise[None]
    act: Callable[[], None]

    def wake(self) -> None:
        if not self.promise.broken:
            self.act()


class Context:
    """Time, timers and the outbox of one shard. Everything said through it is said under the shard's lock."""

    def __init__(self, index: int, clock: Clock, timers: Timers[Operation], epoch: int = 0) -> None:
        self.epoch = epoch
        """The leader epoch under which the shard was elected."""
        self._index = index
        self._clock = clock
        self._timers = timers
        self._outbox: list[PromisedAnswer] = []

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def schedule(self, key: Hashable, delay_ms: int, operation: Operation) -> None:
        """Run `operation` under the shard's lock in `delay_ms`. A timer of the same key is replaced."""
        self._timers.schedule(self._index, key, self._clock.monotonic() + delay_ms / 1000, operation)

    def schedule_if_absent(self, key: Hashable, delay_ms: int, operation: Operation) -> None:
        if not self._timers.is_scheduled(self._index, key):
            self.schedule(key, delay_ms, operation)

    def cancel(self, key: Hashable) -> None:
        self._timers.cancel(self._index, key)

    def complete(self, promise: Promise[T], value: T) -> None:
        """Answer, as soon as everything the shard has written so far is committed."""
        self._outbox.append(PromisedAnswer(promise, value))

    def fail(self, promise: Promise[T], error: KafkaError) -> None:
        self._outbox.append(PromisedAnswer(promise, None, error))

    def when_committed(self, action: Callable[[], None]) -> None:
        """Act, without any lock, as soon as everything the shard has written so far is committed; never when
        the shard is given up before that."""
        promise: Promise[None] = Promise()
        promise.watch(_Action(promise, action))
        self.complete(promise, None)

    def take_outbox(self) -> list[PromisedAnswer]:
        """What is to be said, for the runtime, which says it without holding a lock."""
        taken, self._outbox = self._outbox, []
        return taken
