"""One partition on this broker: its log, its lock, its high watermark, and the requests that wait for it.

The lock guards log and replica state; nothing waits or sends while it is held. Who waits registers a waiter
here; an append wakes the waiters of this partition and of no other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.control import encode_marker
from penstock.replication.markers import TransactionMarker
from penstock.storage.aborted import Aborted
from penstock.storage.incoming import Origin
from penstock.storage.log import Log
from penstock.storage.outcomes import Appended
from penstock.storage.producers import ActiveProducer
from penstock.storage.recoding import AS_PRODUCED, recode
from penstock.storage.slice import FileSlice
from penstock.storage.verification import Guard


class Waiter(Protocol):
    """A request in purgatory."""

    def wake(self) -> None: ...


class Fetched(NamedTuple):
    """What a fetch sees at one moment."""

    records: FileSlice | None
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: list[Aborted] | None = None
    """Aborted transactions among the records; None for those who read everything."""


class Partition:
    """A partition that this broker leads."""

    def __init__(self, topic: str, topic_id: bytes, index: int, log: Log, leader_epoch: int) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.log = log
        self.lock = log.lock
        self.leader_epoch = leader_epoch
        self.deleted = False
        self._waiters: list[Waiter] = []
        self._commit()

    @property
    def high_watermark(self) -> int:
        """Records below are committed."""
        return self.log.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """Below, all transactions are over."""
        return self.log.last_stable_offset

    def append(
        self, batches: memoryview, *, origin: Origin = "client", guard: Guard | None = None
    ) -> Appended:
        """Write batches at the end and wake whoever waits for them. The first one of a transaction comes with
        the guard of `begin_verification`."""
        examined = self.log.examine(batches, origin)
        if origin == "client" and self.log.settings.compression_type != AS_PRODUCED:
            batches, header = recode(batches, examined[0][1], self.log.settings)
            examined = [(0, header)]
        return self._append(
            lambda: self.log.append(
                batches, leader_epoch=self.leader_epoch, origin=origin, examined=examined, guard=guard
            )
        )

    def append_marker(self, marker: TransactionMarker) -> Appended:
        """End a producer's transaction here; KafkaError when its coordinator or its epoch has been replaced.
        Readers of committed records wait for this as for any append."""
        batch = encode_marker(
            marker.commit,
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            coordinator_epoch=marker.coordinator_epoch,
            timestamp_ms=self.log.now_ms(),
        )
        return self._append(
            lambda: self.log.append_marker(
                memoryview(batch),
                leader_epoch=self.leader_epoch,
                coordinator_epoch=marker.coordinator_epoch,
                transaction_version=marker.transaction_version,
            )
        )

    def _append(self, write: Callable[[], Appended]) -> Appended:
        with self.lock:
            self._check_present()
            appended = write()
            self._commit()
            waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.wake()
        return appended

    def begin_verification(
        self, producer_id: int, producer_epoch: int, sequence: int, *, epoch_bump: bool
    ) -> Guard | None:
        """Before a transaction's coordinator is asked whether the transaction may write here: what to show
        with its first batch. None when it has written here before, and nobody need be asked."""
        with self.lock:
            self._check_present()
            return self.log.producers.begin_verification(
                producer_id, producer_epoch, sequence, epoch_bump=epoch_bump, now_ms=self.log.now_ms()
            )

    def fetch(
        self, offset: int, max_bytes: int, *, at_least_one: bool, epoch: int = -1, committed: bool = False
    ) -> Fetched:
        """Records from `offset` on that all replicas have, as a slice of a file that stays readable whatever
        happens to the log. With `committed`, those of ended transactions only."""
        with self.lock:
            self._check_present()
            self.check_epoch(epoch)
            end = self.high_watermark
            if offset > end:
                raise KafkaError(
                    ErrorCode.OFFSET_OUT_OF_RANGE, f"Offset {offset} is beyond the high watermark {end}."
                )
            start, stable = self.log.log_start_offset, self.log.last_stable_offset
            if committed:
                records, aborted = self.log.read_committed(offset, max_bytes, at_least_one=at_least_one)
                return Fetched(records, end, stable, start, aborted)
            records = self.log.read(offset, max_bytes, upto=end, at_least_one=at_least_one)
            return Fetched(records, end, stable, start)

    def check_epoch(self, epoch: int) -> None:
        """A client that knows another leader epoch than ours must look again, or wait until we have heard of
        it (KIP-320)."""
        if epoch in (-1, self.leader_epoch):
            return
        code = ErrorCode.FENCED_LEADER_EPOCH if epoch < self.leader_epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
        raise KafkaError(
            code, f"The leader epoch of {self.topic}-{self.index} is {self.leader_epoch}, not {epoch}."
        )

    def delete_records(self, offset: int | None) -> int:
        """Let the log begin at `offset`, or at the high watermark; gives where it begins now."""
        with self.lock:
            self._check_present()
            if "delete" not in self.log.settings.cleanup_policy:
                raise KafkaError(
                    ErrorCode.POLICY_VIOLATION,
                    f"Records of partition {self.topic}-{self.index} can not be deleted due to the "
                    "configured policy",
                )
            if offset is not None and offset < 0:
                raise KafkaError(
                    ErrorCode.OFFSET_OUT_OF_RANGE,
                    f"The offset {offset} for partition {self.topic}-{self.index} is not valid",
                )
            self.log.delete_records_before(self.high_watermark if offset is None else offset)
            return self.log.log_start_offset

    def epoch_end_offset(self, leader_epoch: int, current_epoch: int = -1) -> tuple[int, int]:
        """The largest known epoch up to `leader_epoch`, and where it ended; (-1, -1) when none is known."""
        with self.lock:
            self._check_present()
            self.check_epoch(current_epoch)
            if leader_epoch == self.leader_epoch:  # also when nothing was written under it yet
                return leader_epoch, self.log.log_end_offset
            return self.log.epoch_end_offset(leader_epoch)

    def producers(self) -> list[ActiveProducer]:
        """The idempotent producers that this partition remembers."""
        with self.lock:
            self._check_present()
            return self.log.producers.active()

    def watch(self, waiter: Waiter) -> None:
        """Wake `waiter` once, at the next append or when the partition goes away."""
        with self.lock:
            self._waiters.append(waiter)

    def unwatch(self, waiter: Waiter) -> None:
        with self.lock:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def mark_deleted(self) -> None:
        """From now on nobody reads or writes here; those who wait are told so."""
        with self.lock:
            self.deleted = True
            waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.wake()

    def _commit(self) -> None:
        """Move the high watermark. With one replica, what is written is committed."""
        self.log.high_watermark = self.log.log_end_offset

    def _check_present(self) -> None:
        if self.deleted:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic {self.topic} was deleted.")
