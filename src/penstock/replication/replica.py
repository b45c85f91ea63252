"""A replica as it is read: its log under its lock, the requests that wait for it, and what a reader may see.
`replication.partition` builds on this, and adds what a replica does as leader or follower."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.replication.following import UNKNOWN_END, EpochEnd, has_diverged
from penstock.replication.leading import Leadership
from penstock.replication.refusals import Refusals
from penstock.replication.surroundings import Surroundings
from penstock.replication.waiters import Waiter, Waiters
from penstock.storage.aborted import Aborted
from penstock.storage.epochs import NO_EPOCH
from penstock.storage.log import Log
from penstock.storage.producers import ActiveProducer
from penstock.storage.slice import FileSlice

ANY_EPOCH = -1


class Fetched(NamedTuple):
    """What a fetch sees at one moment."""

    records: FileSlice | None
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: list[Aborted] | None = None
    """Aborted transactions among the records; None for a reader of uncommitted records."""
    diverging: EpochEnd | None = None
    """What the reader read last is not in this log: where its epoch ended here."""


class Replica:
    """A log that is read while it grows. `_leading` is set while this broker leads the partition."""

    def __init__(self, topic: str, topic_id: bytes, index: int, log: Log, surroundings: Surroundings) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.log = log
        self.lock = log.lock
        self.leader_id = -1
        self.leader_epoch = ANY_EPOCH
        self.deleted = False
        self.to_read = log.to_read
        self.written = Waiters(log.to_read, log.lock)
        """Followers wait here: for anything written, committed or not."""
        self.committed = Waiters(log.to_read, log.lock)
        """All other requests wait here: for what is committed."""
        self.watch, self.unwatch = self.committed.watch, self.committed.unwatch
        self._around = surroundings
        log.on_settled = self._settled
        log.on_waited = self._wake_waiting
        self._leading: Leadership | None = None
        self._lags = False  # as follower: whether the leader has committed what is not here
        self._refusals = Refusals()
        self._led_since = ANY_EPOCH
        """The epoch with which this broker's present leadership began; elections may confirm it."""

    def __str__(self) -> str:
        return f"{self.topic}-{self.index}"

    @property
    def high_watermark(self) -> int:
        """Records below are committed."""
        return self.log.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """Below, all transactions are over."""
        return self.log.last_stable_offset

    @property
    def leads(self) -> bool:
        return self._leading is not None

    @property
    def is_offline(self) -> bool:
        """Whether its log directory has failed: whatever its role is, it does nothing any more."""
        return self.log.directory.failure is not None

    @property
    def leadership(self) -> Leadership | None:
        """What the leader knows of its followers. The caller holds the lock."""
        return self._leading

    # Reading

    def fetch(
        self,
        offset: int,
        max_bytes: int,
        *,
        at_least_one: bool,
        epoch: int = ANY_EPOCH,
        committed: bool = False,
        last_epoch: int = NO_EPOCH,
        any_replica: bool = False,
    ) -> Fetched:
        """Records from `offset` on that all replicas have, as a slice of a file that stays readable
        whatever happens to the log. With `committed`, those of ended transactions only. With `any_replica`, a
        follower answers too (KIP-392)."""
        with self.to_read:
            if self.deleted or (self._leading is None and not any_replica):
                self._check_leads()
            if epoch != ANY_EPOCH:
                self.check_epoch(epoch)
            if last_epoch != NO_EPOCH:
                diverging = self._divergence(offset, last_epoch)
                if diverging is not None:
                    return self._fetched(None, diverging=diverging)
            end = self.log.high_watermark
            if end < offset <= self.log.log_end_offset:
                return self._fetched(None)  # a new leader learns late what was committed: nothing to read yet
            if committed:
                records, aborted = self.log.read_committed(offset, max_bytes, at_least_one=at_least_one)
                return self._fetched(records, aborted)
            return self._fetched(self.log.read(offset, max_bytes, upto=end, at_least_one=at_least_one))

    def _fetched(
        self,
        records: FileSlice | None,
        aborted: list[Aborted] | None = None,
        diverging: EpochEnd | None = None,
    ) -> Fetched:
        log = self.log
        return Fetched(
            records, log.high_watermark, log.last_stable_offset, log.log_start_offset, aborted, diverging
        )

    def read_written(self, offset: int, max_bytes: int) -> FileSlice | None:
        """Records from `offset` on, committed or not: a leader never takes back what it has."""
        with self.lock:
            self._check_leads()
            return self.log.read(offset, max_bytes)

    def _divergence(self, offset: int, last_epoch: int) -> EpochEnd | None:
        """Where the reader's log and this one parted, if its last batch is not here (KIP-595, KIP-320)."""
        if last_epoch == NO_EPOCH:
            return None
        ours = self._epoch_end(last_epoch)
        if ours == UNKNOWN_END or offset < self.log.log_start_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Nothing is known of epoch {last_epoch} before offset {offset}.",
            )
        return ours if has_diverged(ours, offset, last_epoch) else None

    def check_epoch(self, epoch: int) -> None:
        """A client that knows another leader epoch than ours must look again, or wait until we have heard of
        it (KIP-320)."""
        if epoch in (ANY_EPOCH, self.leader_epoch):
            return
        code = ErrorCode.FENCED_LEADER_EPOCH if epoch < self.leader_epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
        raise KafkaError(
            code, f"The leader epoch of {self.topic}-{self.index} is {self.leader_epoch}, not {epoch}."
        )

    def check_leads(self) -> None:
        """KafkaError when this broker does not lead the partition."""
        self._check_leads()

    def check_end_known(self) -> None:
        """A new leader knows what is committed when its followers have fetched: until then its end would
        seem to go back (KIP-207)."""
        if self._leading is not None and self.high_watermark < self._leading.start_offset:
            raise KafkaError(
                ErrorCode.OFFSET_NOT_AVAILABLE,
                f"The new leader of {self} does not know yet what is committed.",
            )

    def epoch_end_offset(self, leader_epoch: int, current_epoch: int = ANY_EPOCH) -> EpochEnd:
        """The largest known epoch up to `leader_epoch`, and where it ended; (-1, -1) when none is known."""
        with self.lock:
            self._check_leads()
            self.check_epoch(current_epoch)
            return self._epoch_end(leader_epoch)

    def _epoch_end(self, leader_epoch: int) -> EpochEnd:
        """As the log says; the present epoch counts as begun when nothing was written under it yet."""
        log, latest = self.log, self.log.epochs.latest
        if leader_epoch == self.leader_epoch:
            return EpochEnd(leader_epoch, log.log_end_offset)
        if self.leads and latest <= leader_epoch < self.leader_epoch:
            return EpochEnd(leader_epoch if latest == NO_EPOCH else latest, log.log_end_offset)
        return EpochEnd(*log.epoch_end_offset(leader_epoch))

    def producers(self) -> list[ActiveProducer]:
        """The idempotent producers that this partition remembers."""
        with self.lock:
            self._check_leads()
            return self.log.producers.active()

    # What the tail has taken

    def _settled(self, batches: int, size_bytes: int, records: int) -> None:
        """Requests that looked before these batches came have to look again."""
        self.written.changes += 1
        self.committed.changes += 1
        self._around.produced(self.topic, batches, size_bytes, records)

    def _wake_waiting(self) -> None:
        with self.to_read:
            woken = self._take_waiters()
        wake_all(woken)

    # Ending

    def mark_deleted(self) -> None:
        """From now on nothing is read or written here; requests that wait are woken and refused."""
        with self.lock:
            self.deleted = True
            woken = self._take_waiters()
        wake_all(woken)

    def _take_waiters(self) -> list[Waiter]:
        return [*self.committed.take(), *self.written.take()]

    def _check_present(self) -> None:
        if self.deleted:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic {self.topic} was deleted.")
        if self.is_offline:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"The log directory of {self} is offline.")

    def _check_leads(self) -> Leadership:
        self._check_present()
        if self._leading is None:
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                f"{self} is led by broker {self.leader_id}, not by this one.",
            )
        return self._leading


def wake_all(waiters: Iterable[Waiter], to_wake: list[Waiter] | None = None) -> None:
    """Called without a lock, or with a list of the waiters to be woken later."""
    if to_wake is not None:
        to_wake += waiters
        return
    for waiter in waiters:
        waiter.wake()
