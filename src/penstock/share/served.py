"""A partition as its leader serves it to one share group: deliveries under a lock, written by one write at a
time.

A write holds everything that is decided by then. What is decided while it is under way goes with the next
one: writes of one partition must not overtake each other, and many acknowledgements become one write.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock
from typing import NamedTuple

from penstock.coordinator.promise import Promise, done, failed
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.replication.waiters import Waiter, Waiters
from penstock.share.deliveries import Acknowledgement, Acquired, Deliveries, Range
from penstock.share.state import PartitionState, SharePartitionKey
from penstock.share.states import States


class _Decided(NamedTuple):
    """Records whose change waits for its write, and the request that waits for it."""

    offsets: list[int]
    promise: Promise[None]


class ServedPartition:
    """One share partition. Its lock comes before that of the log's partition; no promise is kept under it."""

    def __init__(
        self,
        key: SharePartitionKey,
        leader_epoch: int,
        state: PartitionState,
        states: States,
        most: int,
        most_attempts: int,
    ) -> None:
        self.key = key
        self.leader_epoch = leader_epoch
        self.used = 0.0
        """When it was last asked for."""
        self.is_fenced = False
        """Whether another leader, or another state, has taken its place."""
        self.lock = RLock()
        self.released = Waiters(self.lock)
        """Fetches wait here for records that become available again."""
        self._state_epoch = state.state_epoch
        self._states = states
        self._deliveries = Deliveries(state, most, most_attempts)
        self._waiting: list[_Decided] = []
        self._written: list[_Decided] = []  # by the write that is under way
        self._is_writing = False

    # Reading

    def next_offset(self, now: float, log_start_offset: int) -> int | None:
        """From where the next records are to be read; None while too much is in flight."""
        with self.lock:
            self._deliveries.move_start(log_start_offset)
            expired = self._deliveries.expire(now)
            woken = self.released.take() if expired else []
            offset = self._deliveries.next_offset()
        _wake(woken)
        return offset

    def acquire(
        self, member_id: str, ranges: Sequence[Range], wanted: int, lock_until: float, *, strict: bool
    ) -> list[Acquired]:
        with self.lock:
            return self._deliveries.acquire(member_id, ranges, wanted, lock_until, strict=strict)

    # Acknowledging

    def acknowledge(
        self, member_id: str, acknowledgements: Sequence[Acknowledgement], now: float, lock_until: float
    ) -> Promise[None]:
        """Done when what the member says is durable."""
        try:
            with self.lock:
                self._deliveries.expire(now)
                offsets = self._deliveries.acknowledge(member_id, acknowledgements, lock_until)
        except KafkaError as error:
            return failed(error)
        return self._decided(offsets)

    def release_member(self, member_id: str) -> Promise[None]:
        with self.lock:
            offsets = self._deliveries.release_member(member_id)
        return self._decided(offsets)

    def _decided(self, offsets: list[int]) -> Promise[None]:
        if not offsets:
            return done(None)
        promise: Promise[None] = Promise()
        with self.lock:
            self._waiting.append(_Decided(offsets, promise))
        self.write()
        return promise

    # Writing

    def write(self) -> None:
        """Make durable what was decided, unless a write is under way: then its end begins the next one."""
        with self.lock:
            if self._is_writing or not self._deliveries.is_dirty:
                return
            self._is_writing = True
            self._deliveries.is_dirty = False
            self._written, self._waiting = self._waiting, []
            state = self._deliveries.state(self._state_epoch, self.leader_epoch)
        _Write(self, self._states.write(self.key, state)).begin()

    def on_written(self, error: KafkaError | None) -> None:
        with self.lock:
            written, self._written = self._written, []
            self._is_writing = False
            offsets = [offset for decided in written for offset in decided.offsets]
            freed = self._deliveries.settle(offsets, durable=error is None)
            if error is not None and error.code in _FENCED:
                self.is_fenced = True
                refused, self._waiting = self._waiting, []
                written += refused
            woken = self.released.take() if freed or self.is_fenced else []
        for decided in written:
            if error is None:
                decided.promise.complete(None)
            else:
                decided.promise.fail(error)
        _wake(woken)
        if not self.is_fenced:
            self.write()


_FENCED = (
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.FENCED_STATE_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


class _Write:
    """Waits for the end of a write."""

    def __init__(self, partition: ServedPartition, promise: Promise[None]) -> None:
        self._partition = partition
        self._promise = promise

    def begin(self) -> None:
        self._promise.watch(self)

    def wake(self) -> None:
        error: KafkaError | None = None
        try:
            self._promise.result()
        except KafkaError as refused:
            error = refused
        self._partition.on_written(error)


def _wake(waiters: Sequence[Waiter]) -> None:
    for waiter in waiters:
        waiter.wake()
