"""Shards of one internal topic: loaded, asked, unloaded.

A decision is taken under the shard's lock, written, and replayed; then the lock is released, and the answers
go out when what was written is committed. No thread lives here: `server` (or the simulator) calls `load` for
what `elect` left to be loaded, and `advance` when `next_deadline` has come.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from threading import Lock
from typing import Generic, TypeVar

from penstock.clock import Clock
from penstock.coordinator.decision import NOTHING, Context, Decision, Operation, PromisedAnswer, State
from penstock.coordinator.promise import Promise
from penstock.coordinator.shard_log import Entry, Marker, ShardLog
from penstock.coordinator.timers import Timers
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.batch import NO_PRODUCER_ID
from penstock.records.codecs import Codec
from penstock.records.record import encode_batch
from penstock.replication.markers import TransactionMarker

_log = logging.getLogger(__name__)

S = TypeVar("S", bound=State)
T = TypeVar("T")


class Phase(Enum):
    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"
    CLOSED = "closed"


class _Shard(Generic[S]):
    """One partition of the internal topic. Its lock comes before the partition's own."""

    def __init__(self, log: ShardLog, context: Context, state: S, epoch: int) -> None:
        self.lock = Lock()
        self.log = log
        self.context = context
        self.state = state
        self.epoch = epoch
        self.phase = Phase.LOADING
        self.written_offset = 0  # everything below was replayed; it counts when it is committed
        self.deferred: deque[tuple[int, list[PromisedAnswer]]] = deque()  # by written offset, rising


class Runtime(Generic[S]):
    """All shards of this broker. A request for a shard that is not here is refused with NOT_COORDINATOR."""

    def __init__(
        self, topic: str, clock: Clock, new_state: Callable[[Context], S], codec: Codec = Codec.NONE
    ) -> None:
        self._topic = topic
        self._codec = codec
        self._clock = clock
        self._new_state = new_state
        self._timers: Timers[Operation] = Timers()
        self._shards: Mapping[int, _Shard[S]] = {}
        self._lock = Lock()  # of the map; never held together with a shard's own
        self._to_load: deque[int] = deque()
        self._wake_loader: Callable[[], None] = lambda: None

    # Leadership

    def elect(self, index: int, log: ShardLog, epoch: int) -> None:
        """This broker leads the partition from now on. An empty one is active at once, another after
        `load`."""
        present = self._shards.get(index)
        if present is not None:
            if present.epoch >= epoch:
                return
            self.resign(index)
        context = Context(index, self._clock, self._timers, epoch)
        shard = _Shard(log, context, self._new_state(context), epoch)
        log.on_commit(lambda: self._release(shard))
        with self._lock:
            self._shards = {**self._shards, index: shard}
        if log.is_empty:
            self.load(index)
        else:
            self._to_load.append(index)
            self._wake_loader()

    def resign(self, index: int) -> None:
        """Another broker leads the partition, or none does. Requests that wait get NOT_COORDINATOR."""
        with self._lock:
            shard = self._shards.get(index)
            self._shards = {at: other for at, other in self._shards.items() if at != index}
        if shard is None:
            return
        error = not_coordinator(self._topic, index)
        with shard.lock:
            loaded, shard.phase = shard.phase is Phase.ACTIVE, Phase.CLOSED
            self._timers.cancel_all(index)
            if loaded:
                shard.state.on_unloaded(error)
            # What was decided but not committed may be lost: its requests must not be answered with success.
            answers = [
                PromisedAnswer(answer.promise, None, error) for _, group in shard.deferred for answer in group
            ]
            shard.deferred.clear()
            answers += shard.context.take_outbox()
        _give(answers)

    def on_load_wanted(self, wake: Callable[[], None]) -> None:
        """Call `wake` when `load_next` has something to do."""
        self._wake_loader = wake

    def load_next(self) -> bool:
        """Load one shard that waits for it; False when none does."""
        try:
            index = self._to_load.popleft()
        except IndexError:
            return False
        self.load(index)
        return True

    def load(self, index: int) -> None:
        """Read the partition and replay it. Until this ends, the shard answers that it is loading."""
        shard = self._shards.get(index)
        if shard is None or shard.phase is not Phase.LOADING:
            return
        try:
            # Without the lock: nothing else touches the shard while it is loading, and requests are refused.
            count = self._replay_all(shard)
        except KafkaError as error:
            shard.phase = Phase.FAILED
            _log.info("%s-%d is not loaded: %s", self._topic, index, error)  # another leads it by now
            return
        except Exception:
            # An answer from half a log would mean to consumers that they never committed anything.
            shard.phase = Phase.FAILED
            _log.exception("%s-%d could not be loaded; its groups are not served", self._topic, index)
            return
        with shard.lock:
            if shard.phase is not Phase.LOADING:
                return  # resigned meanwhile
            shard.written_offset = shard.log.end_offset
            shard.phase = Phase.ACTIVE
            shard.state.on_loaded()
            answers = self._collect(shard)
        _give(answers)
        if count:
            _log.info("%s-%d is loaded: %d records", self._topic, index, count)

    @staticmethod
    def _replay_all(shard: _Shard[S]) -> int:
        count = 0
        for item in shard.log.read_all():
            count += 1
            if isinstance(item, Marker):
                shard.state.replay_marker(item)
            else:
                shard.state.replay(item)
        return count

    # Questions and decisions

    def submit(self, index: int, decide: Callable[[S], Decision]) -> None:
        """Take one decision in a shard; KafkaError when the shard is not here or refuses. The caller
        waits for a promise, which the decision completes through its context."""
        shard = self._active(index)
        with shard.lock:
            self._check(shard, index)  # once more: it may have been unloaded before the lock was ours
            try:
                self._carry_out(shard, decide(shard.state))
            finally:
                answers = self._collect(shard)
        shard.log.wake_waiters()
        _give(answers)

    def ask(self, index: int, decide: Callable[[S], tuple[Decision, T]]) -> Promise[T]:
        """A decision that has its answer at once. The promise is done when the decision is committed."""
        promise: Promise[T] = Promise()

        def operation(state: S) -> Decision:
            decision, result = decide(state)
            return _answering(decision, promise, result, self._active(index).context)

        try:
            self.submit(index, operation)
        except KafkaError as error:
            promise.fail(error)
        return promise

    def read(self, index: int, look: Callable[[S], T]) -> Promise[T]:
        """What the shard knows, as soon as all of it is committed."""
        return self.ask(index, lambda state: (NOTHING, look(state)))

    def append_marker(self, index: int, marker: TransactionMarker) -> int:
        """End a transaction that wrote to this partition: write the marker and replay it, with nothing in
        between; gives where the log ends behind it. KafkaError when the shard is not here or refuses."""
        shard = self._active(index)
        with shard.lock:
            self._check(shard, index)
            shard.written_offset = shard.log.append_marker(marker) + 1
            shard.state.replay_marker(Marker(marker.producer_id, marker.commit))
            end_offset = shard.written_offset
        shard.log.wake_waiters()
        return end_offset

    def look_at_all(self, look: Callable[[S], T]) -> list[T]:
        """What each shard that is served here holds now, committed or not: for counting, not for answers."""
        seen = []
        for shard in list(self._shards.values()):
            with shard.lock:
                if shard.phase is Phase.ACTIVE:
                    seen.append(look(shard.state))
        return seen

    def active_shards(self) -> list[int]:
        return [index for index, shard in self._shards.items() if shard.phase is Phase.ACTIVE]

    def is_loading(self) -> bool:
        return any(shard.phase is Phase.LOADING for shard in self._shards.values())

    # Time

    def on_earlier_deadline(self, wake: Callable[[], None]) -> None:
        self._timers.on_earlier(wake)

    def next_deadline(self) -> float | None:
        """When `advance` has something to do, on the monotonic clock."""
        return self._timers.next_deadline()

    def postpone(self, seconds: float) -> None:
        """The whole process was paused for so long: members could not be heard, and are not to blame."""
        _log.warning("%s: all timers are postponed by %.1f s, the process was paused", self._topic, seconds)
        self._timers.postpone(seconds)

    def advance(self, now: float) -> None:
        """Run every timer that has run out."""
        while (due := self._timers.pop_due(now)) is not None:
            task = due.task
            try:
                self.submit(due.owner, lambda _, run=task: run())  # type: ignore[misc]
            except KafkaError as error:
                _log.info("%s-%d: timer %s: %s", self._topic, due.owner, due.key, error)
            except Exception:
                _log.exception("%s-%d: timer %s failed", self._topic, due.owner, due.key)

    # Inside

    def _active(self, index: int) -> _Shard[S]:
        shard = self._shards.get(index)
        if shard is None:
            raise not_coordinator(self._topic, index)
        self._check(shard, index)
        return shard

    def _check(self, shard: _Shard[S], index: int) -> None:
        if shard.phase is Phase.LOADING:
            raise KafkaError(
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, f"{self._topic}-{index} is still being loaded."
            )
        if shard.phase is not Phase.ACTIVE:
            raise not_coordinator(self._topic, index)

    def _carry_out(self, shard: _Shard[S], decision: Decision) -> None:
        if decision.records:
            try:
                self._write(shard, decision)
            except KafkaError as error:
                refusal = _as_coordinator_error(error)
                if decision.failed is None:
                    raise refusal from error
                decision.failed(refusal)
                return
        if decision.after is not None:
            decision.after()

    def _write(self, shard: _Shard[S], decision: Decision) -> None:
        producer = decision.producer
        producer_id = NO_PRODUCER_ID if producer is None else producer.producer_id
        batch = encode_batch(
            decision.records,
            codec=self._codec,
            producer_id=producer_id,
            producer_epoch=-1 if producer is None else producer.producer_epoch,
            transactional=producer is not None,
        )
        base = shard.log.append(memoryview(batch), None if producer is None else producer.guard)
        for at, record in enumerate(decision.records):
            shard.state.replay(Entry(record._replace(offset=base + at), producer_id))
        shard.written_offset = base + len(decision.records)

    @staticmethod
    def _collect(shard: _Shard[S]) -> list[PromisedAnswer]:
        """The answers of this step, unless they have to wait for the commitment of what they rest on."""
        answers = shard.context.take_outbox()
        if not answers or shard.log.committed_offset >= shard.written_offset:
            return answers
        shard.deferred.append((shard.written_offset, answers))
        return []

    @staticmethod
    def _release(shard: _Shard[S]) -> None:
        """Commitment has moved on: give the answers that waited for it."""
        ready: list[PromisedAnswer] = []
        with shard.lock:
            committed = shard.log.committed_offset
            while shard.deferred and shard.deferred[0][0] <= committed:
                ready += shard.deferred.popleft()[1]
        _give(ready)


def _give(answers: Iterable[PromisedAnswer]) -> None:
    """Without any lock: completing a promise wakes the request that waits for it."""
    for answer in answers:
        answer.give()


def not_coordinator(topic: str, index: int) -> KafkaError:
    return KafkaError(ErrorCode.NOT_COORDINATOR, f"{topic}-{index} is led by another broker.")


def _answering(decision: Decision, promise: Promise[T], result: T, context: Context) -> Decision:
    """The decision, completing the promise when it is carried out."""

    def after() -> None:
        if decision.after is not None:
            decision.after()
        context.complete(promise, result)

    def failed(error: KafkaError) -> None:
        if decision.failed is not None:
            decision.failed(error)
        context.fail(promise, error)

    return Decision(decision.records, after, failed, decision.producer)


_COORDINATOR_ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def _as_coordinator_error(error: KafkaError) -> KafkaError:
    """The error for a client of the coordinator when the internal topic refuses a write, as in Kafka."""
    return KafkaError(_COORDINATOR_ERRORS.get(error.code, error.code), error.message)
