"""A transaction coordinator with one shard: its log in memory, time by hand, markers on paper."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TypeVar

from penstock.coordinator.promise import Promise
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.record import encode_batch
from penstock.transactions.coordinator import TransactionCoordinator
from penstock.transactions.initialising import Initialise
from penstock.transactions.markers import Ending
from penstock.transactions.settings import TransactionSettings
from penstock.transactions.shard import Identity
from penstock.transactions.transaction import CLASSIC, EPOCH_PER_TRANSACTION, Transaction
from penstock.transactions.transaction_records import transaction_record
from tests.coordinator.manual_clock import ManualClock
from tests.coordinator.memory_log import MemoryLog

TIMEOUT_MS = 60_000
TX = "tx"

T = TypeVar("T")


class PaperMarkers:
    """Speaks `transactions.markers:Markers`: writes at once, or when it is told to."""

    def __init__(self) -> None:
        self.holding = False
        self.broken: set[TopicPartition] = set()
        self.written: list[tuple[TopicPartition, Ending]] = []
        self.held: list[tuple[Ending, Callable[[frozenset[TopicPartition]], None]]] = []

    def write(self, ending: Ending, done: Callable[[frozenset[TopicPartition]], None]) -> None:
        if self.holding:
            self.held.append((ending, done))
            return
        rest = ending.partitions & self.broken
        self.written += [(place, ending) for place in sorted(ending.partitions - rest)]
        done(frozenset(rest))

    def release(self) -> None:
        self.holding = False
        held, self.held = self.held, []
        for ending, done in held:
            self.write(ending, done)


class Stage:
    """Requests in one line each; refusals are raised."""

    def __init__(self, settings: TransactionSettings | None = None) -> None:
        self.settings = settings or TransactionSettings()
        self.clock = ManualClock()
        self.log = MemoryLog()
        self.markers = PaperMarkers()
        self._ids = count(1000)
        self._epoch = 0
        self.reload()

    def reload(self) -> None:
        """A new leader: everything anew from the log."""
        self._epoch += 1
        self.markers.held.clear()
        self.coordinator = TransactionCoordinator(
            self.settings, self.clock, lambda: 1, lambda: next(self._ids), self.markers
        )
        self.coordinator.runtime.elect(0, self.log, self._epoch)
        self.coordinator.runtime.load(0)

    def given(self, transaction: Transaction) -> None:
        """Begin with this one in the log."""
        self.log.append(memoryview(encode_batch([transaction_record(transaction)])))
        self.reload()

    def exhausted(self) -> Identity:
        """A producer in the last epoch that a client can have."""
        self.given(Transaction(TX, next(self._ids), 32_766, TIMEOUT_MS, update_ms=self.clock.now_ms()))
        return self.state.producer_id, self.state.producer_epoch

    def pass_ms(self, duration_ms: float) -> None:
        self.clock.ms += int(duration_ms)
        self.coordinator.runtime.advance(self.clock.monotonic())

    def init(
        self, expected: Identity = (-1, -1), *, timeout_ms: int = TIMEOUT_MS, name: str = TX
    ) -> Identity:
        return now(self.coordinator.initialise(name, Initialise(timeout_ms, *expected)))

    def add(self, producer: Identity, *places: TopicPartition, version: int = EPOCH_PER_TRANSACTION) -> None:
        codes = now(self.coordinator.add_or_verify(TX, *producer, places, verify_only=False, version=version))
        assert set(codes.values()) <= {ErrorCode.NONE}

    def verify(self, producer: Identity, *places: TopicPartition) -> dict[TopicPartition, ErrorCode]:
        return now(self.coordinator.add_or_verify(TX, *producer, places, verify_only=True))

    def end(
        self, producer: Identity, *, commit: bool = True, version: int = EPOCH_PER_TRANSACTION
    ) -> Identity:
        return now(self.coordinator.end(TX, *producer, commit=commit, version=version))

    def end_classic(self, producer: Identity, *, commit: bool = True) -> Identity:
        return self.end(producer, commit=commit, version=CLASSIC)

    @property
    def state(self) -> Transaction:
        return now(self.coordinator.describe(TX))


def now(promise: Promise[T]) -> T:
    assert promise.done
    return promise.result()


def refusal(attempt: Callable[[], object]) -> ErrorCode:
    """The code with which the attempt is refused."""
    try:
        attempt()
    except KafkaError as error:
        return error.code
    raise AssertionError("it was not refused")
