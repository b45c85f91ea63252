"""One partition on this broker: a replica with its role, leading or following.

The lock guards log and replica state; nothing waits or sends while it is held. A request that waits registers
a waiter: here for what is committed, at `written` for what is written. `replication.leading` decides what a
leader knows of its followers, and `replication.following` how a follower cuts its log. The metadata gives the
role (`assume`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.control import encode_marker
from penstock.replication.following import EpochEnd, Position, truncation_offset
from penstock.replication.leading import Leadership, WantedIsr
from penstock.replication.markers import TransactionMarker
from penstock.replication.replica import ANY_EPOCH, Fetched, Replica, wake_all
from penstock.replication.surroundings import Assigned
from penstock.replication.throttle import ReplicationThrottle, names_replica
from penstock.replication.waiters import Waiter
from penstock.storage.incoming import ExaminedBatches, examine_fetched, examine_internal
from penstock.storage.outcomes import Appended
from penstock.storage.recoding import AS_PRODUCED, recode
from penstock.storage.slice import FileSlice
from penstock.storage.verification import Guard


class Partition(Replica):
    """A replica of a partition, leading or following."""

    # Roles

    def assume(self, assigned: Assigned) -> bool:
        """Take the role that the metadata gives; whether it is another, or of another epoch, than before."""
        with self.lock:
            if assigned.leader_epoch < self.leader_epoch:
                return False
            is_new = assigned.leader_epoch > self.leader_epoch
            self.leader_id, self.leader_epoch = assigned.leader, assigned.leader_epoch
            if assigned.leader == self._around.node_id:
                woken = self._lead(assigned, is_new=is_new)
            else:
                self._leading = None
                woken = self._take_waiters()
        wake_all(woken)
        return is_new

    def _lead(self, assigned: Assigned, *, is_new: bool) -> list[Waiter]:
        now = self._around.clock.monotonic()
        if self._leading is None:
            self._led_since = assigned.leader_epoch
        if self._leading is None or is_new:
            start_offset = self.log.log_end_offset
            self._leading = Leadership(self._around.node_id, assigned, start_offset, now)
            self._advance(self._leading)
            return self._take_waiters()
        self._leading.update(assigned, now)
        return self.committed.take() if self._advance(self._leading) else []

    # Leading: writing

    def append(self, batches: memoryview, *, guard: Guard | None = None, to_all: bool = False) -> Appended:
        """Write a producer's batch at the end and wake the requests that wait for it. The first batch of a
        transaction comes with the guard of `begin_verification`. With `to_all`, NOT_ENOUGH_REPLICAS when too
        few replicas are in sync."""
        log = self.log
        examined = log.examine(batches)
        header = examined.headers[0][1]
        if log.settings.compression_type != AS_PRODUCED:
            batches, header = recode(batches, header, log.settings)
            examined = ExaminedBatches(batches, ((0, header),))
        producer_id = header.producer_id
        with log.to_append:
            try:
                leading = self._check_may_append(to_all, ANY_EPOCH)
                if self._refusals.by_producer and not log.producers.knows(producer_id):
                    self._refusals.check_first(producer_id, header.base_sequence)
                appended = log.append_produced(examined, leader_epoch=self.leader_epoch, guard=guard)
            except KafkaError as error:
                if producer_id < 0:
                    raise
                raise self._refusals.answer(producer_id, error) from None
            if self._refusals.by_producer:
                self._refusals.forget(producer_id)
            woken = self._appended(leading)
            if not leading.followers and not self._refusals.by_producer:
                log.open_tail(self.leader_epoch, producer_id)
        if woken:
            wake_all(woken)
        return appended

    def append_internal(
        self,
        batches: memoryview,
        *,
        guard: Guard | None = None,
        epoch: int = ANY_EPOCH,
        to_wake: list[Waiter] | None = None,
    ) -> Appended:
        """Write what a coordinator of this broker has decided, on all replicas in sync. A caller that holds a
        lock gives a list `to_wake`, and wakes the waiters in it later."""
        examined = examine_internal(batches, self.log.settings)
        with self.lock:
            leading = self._check_may_append(True, epoch)
            appended = self.log.append_internal(examined, leader_epoch=self.leader_epoch, guard=guard)
            woken = self._appended(leading)
        wake_all(woken, to_wake)
        return appended

    def append_marker(
        self, marker: TransactionMarker, *, epoch: int = ANY_EPOCH, to_wake: list[Waiter] | None = None
    ) -> Appended:
        """End a producer's transaction here; KafkaError when its coordinator or its epoch has been replaced.
        Readers of committed records wait for this as for any append."""
        batch = encode_marker(
            marker.commit,
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            coordinator_epoch=marker.coordinator_epoch,
            timestamp_ms=self.log.now_ms(),
        )
        with self.lock:
            leading = self._check_may_append(True, epoch)
            appended = self.log.append_marker(
                memoryview(batch),
                leader_epoch=self.leader_epoch,
                coordinator_epoch=marker.coordinator_epoch,
                transaction_version=marker.transaction_version,
            )
            woken = self._appended(leading)
        wake_all(woken, to_wake)
        return appended

    def _check_may_append(self, to_all: bool, epoch: int) -> Leadership:
        leading = self._leading
        # What `_check_leads` asks, without its calls: every append asks.
        if leading is None or self.deleted or self.log.directory.failure is not None:
            leading = self._check_leads()
        if epoch != ANY_EPOCH:
            self.check_epoch(epoch)
        # A replica that is alone has enough. Every append asks, so this comes first.
        if to_all and leading.followers and not leading.has_enough(self.log.settings.min_insync_replicas):
            raise self._not_enough(leading)
        return leading

    def _appended(self, leading: Leadership) -> Sequence[Waiter]:
        """Something was written. Returns the waiters to be woken once the lock is released."""
        advanced = self._advance(leading)
        written = self.written.take()
        committed = self.committed.take() if advanced else []
        return [*written, *committed] if written and committed else written or committed

    def _advance(self, leading: Leadership) -> bool:
        """Move the high watermark; whether it moved. With one replica, what is written is committed."""
        log = self.log
        if not leading.followers:
            log.high_watermark = log.log_end_offset
            return True
        around = self._around
        committed = leading.committed(
            log.log_end_offset,
            log.settings.min_insync_replicas,
            around.clock.monotonic(),
            around.lag_seconds(),
            around.may_join,
        )
        if committed is None or committed <= log.high_watermark:
            return False
        log.high_watermark = committed
        return True

    def acknowledgement(self, end_offset: int, leader_epoch: int) -> ErrorCode | None:
        """What to answer to a write that ended at `end_offset`, made under `leader_epoch`, and that is to
        be on all replicas in sync; None while it is not yet known."""
        with self.lock:
            leading = self._leading
            if self.deleted:
                return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if leading is None or leader_epoch < self._led_since:
                return ErrorCode.NOT_LEADER_OR_FOLLOWER
            if self.high_watermark < end_offset:
                return None
            enough = leading.has_enough(self.log.settings.min_insync_replicas)
            return ErrorCode.NONE if enough else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    def when_acknowledged(
        self, end_offset: int, leader_epoch: int, tell: Callable[[ErrorCode], None]
    ) -> None:
        """Call `tell`, once and without a lock, with the acknowledgement as soon as it is known."""
        _Awaited(self, end_offset, leader_epoch, tell).wake()

    def begin_verification(
        self, producer_id: int, producer_epoch: int, sequence: int, *, epoch_bump: bool
    ) -> Guard | None:
        """Before a transaction's coordinator is asked whether the transaction may write here: what to show
        with its first batch. None when it has written here before, and nobody need be asked."""
        with self.lock:
            self._check_leads()
            return self.log.producers.begin_verification(
                producer_id, producer_epoch, sequence, epoch_bump=epoch_bump, now_ms=self.log.now_ms()
            )

    def delete_records(self, offset: int | None) -> int:
        """Let the log begin at `offset`, or at the high watermark; gives where it begins now."""
        with self.lock:
            self._check_leads()
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

    def low_watermark(self) -> int:
        """Where the logs of all replicas that are alive begin, at the earliest."""
        with self.lock:
            leading = self._check_leads()
            return leading.low_watermark(self.log.log_start_offset, self._around.may_join)

    # Leading: the ISR

    def fetch_for_replica(
        self, node: int, broker_epoch: int, position: Position, max_bytes: int, *, at_least_one: bool
    ) -> Fetched:
        """What a follower lacks, committed or not. A fetch from `position` acknowledges everything before it,
        unless the logs differ: then the answer says from where."""
        with self.lock:
            leading = self._check_leads()
            self.check_epoch(position.leader_epoch)
            self._check_follower(leading, node, broker_epoch)
            diverging = self._divergence(position.offset, position.last_epoch)
            records, woken, wants = None, [], False
            if diverging is None:
                records = self._read_for(leading, node, position.offset, max_bytes, at_least_one)
                now = self._around.clock.monotonic()
                end_offset = self.log.log_end_offset
                shortened = position.log_start_offset != leading.followers[node].log_start_offset
                leading.fetched(
                    node, position.offset, position.log_start_offset, broker_epoch, end_offset, now
                )
                woken = self.committed.take() if self._advance(leading) or shortened else []
                wants = leading.want_expanded(node, self.high_watermark, self._around.may_join)
            fetched = self._fetched(records, diverging=diverging)
        wake_all(woken)
        if wants:
            self._around.isr_wanted(self)
        return fetched

    def _read_for(
        self, leading: Leadership, node: int, offset: int, max_bytes: int, at_least_one: bool
    ) -> FileSlice | None:
        """What a follower lacks; nothing for now, when it is being filled and has had its share."""
        throttle = None if node in leading.isr else self._throttle(self._around.sending, leading=True)
        held = throttle is not None and throttle.is_exceeded
        records = self.log.read(offset, 0 if held else max_bytes, at_least_one=at_least_one and not held)
        if throttle is not None and records is not None:
            throttle.record(records.size)
        return records

    def _throttle(self, throttle: ReplicationThrottle | None, *, leading: bool) -> ReplicationThrottle | None:
        """The throttle, if this replica is one that it holds for."""
        settings = self.log.settings
        throttled = (
            settings.leader_replication_throttled_replicas
            if leading
            else settings.follower_replication_throttled_replicas
        )
        return throttle if names_replica(throttled, self.index, self._around.node_id) else None

    def is_quiet_for(
        self,
        node: int,
        broker_epoch: int,
        position: tuple[int, int, int],
        told: tuple[int, int],
        now: float,
    ) -> bool:
        """Whether a follower in sync, whose position (leader epoch, offset, log start) was looked at
        before, has everything and has been sent the present high watermark and log start (`told`). Then it
        has caught up now, and no more is to be done. The lock is not taken: a change wakes the waiters."""
        leading, log = self._leading, self.log
        follower = None if leading is None or self.deleted else leading.followers.get(node)
        if leading is None or follower is None or node not in leading.isr:
            return False
        end_offset = follower.end_offset
        if (
            position != (self.leader_epoch, end_offset, follower.log_start_offset)
            or follower.broker_epoch != broker_epoch
            or told != (log.high_watermark, log.log_start_offset)
            or not log.high_watermark == log.log_end_offset == end_offset
        ):
            return False  # what is not committed may become so with every look: who hinders it may be gone
        follower.caught_up_at = follower.fetched_at = now
        return True

    def _check_follower(self, leading: Leadership, node: int, broker_epoch: int) -> None:
        follower = leading.followers.get(node)
        if follower is None:
            # It has heard of an assignment that this leader has not: it tries again.
            raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH, f"Broker {node} is no replica of {self}.")
        if broker_epoch < follower.broker_epoch:
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                f"Broker {node} has begun another life since {broker_epoch}.",
            )

    def shrink_isr(self) -> None:
        """Propose that followers which have not caught up for too long leave the ISR. Called now and then."""
        with self.lock:
            leading = self._leading
            if leading is None or leading.is_alone or self.deleted or self.is_offline:
                return
            now, lag_seconds = self._around.clock.monotonic(), self._around.lag_seconds()
            wants = leading.want_shrunk(self.log.log_end_offset, now, lag_seconds)
        if wants:
            self._around.isr_wanted(self)

    def wanted_isr(self) -> WantedIsr | None:
        """What the controller is to be asked for, if anything."""
        with self.lock:
            return None if self._leading is None or self.deleted or self.is_offline else self._leading.wanted

    def isr_changed(self, leader_epoch: int, isr: Iterable[int], partition_epoch: int) -> None:
        """The controller's answer: so it is now."""
        self._update_isr(leader_epoch, lambda leading: leading.adopt(frozenset(isr), partition_epoch))

    def isr_refused(self, wanted: WantedIsr) -> None:
        """The controller has not attempted it."""
        self._update_isr(wanted.leader_epoch, lambda leading: leading.forget_wanted(wanted))

    def _update_isr(self, leader_epoch: int, update: Callable[[Leadership], None]) -> None:
        with self.lock:
            leading = self._leading
            if leading is None or leading.leader_epoch != leader_epoch or self.deleted:
                return
            update(leading)
            self._advance(leading)
            woken = self.committed.take()  # also who waits for a larger ISR
        wake_all(woken)

    # Following

    def position(self) -> Position | None:
        """From where to ask the leader; None for a replica that does not follow."""
        with self.lock:
            if self.deleted or self.leads or self.leader_id < 0 or self.is_offline:
                return None
            log = self.log
            return Position(self.leader_epoch, log.log_end_offset, log.epochs.latest, log.log_start_offset)

    @property
    def is_held_back(self) -> bool:
        """Whether this follower is being filled and has taken its share for now."""
        throttle = self._throttle(self._around.taking, leading=False) if self._lags else None
        return throttle is not None and throttle.is_exceeded

    def is_at(self, position: Position) -> bool:
        """Whether `position` would give the same; without the lock, for the one thread that appends."""
        return self._still_at(position) and position.log_start_offset == self.log.log_start_offset

    def take(
        self, position: Position, batches: memoryview, high_watermark: int, log_start_offset: int
    ) -> int:
        """Append what the leader sent for `position`, as the leader wrote it; how many bytes that were. An
        answer that comes after the role has changed is passed over."""
        examined = examine_fetched(batches)
        with self.lock:
            if not self._still_at(position):
                return 0
            log, written = self.log, examined.size_bytes
            if written:
                log.append_fetched(examined)
            self._lags = high_watermark > log.log_end_offset
            throttle = self._throttle(self._around.taking, leading=False)
            if throttle is not None and written:
                throttle.record(written)
            advanced = self._commit_as_follower(high_watermark)
            if log_start_offset > log.log_start_offset:
                log.delete_records_before(min(log_start_offset, self.high_watermark))
            woken = self.committed.take() if advanced else []
        wake_all(woken)
        return written

    def _commit_as_follower(self, high_watermark: int) -> bool:
        """What the leader knows to be committed is; a new leader knows less for a moment, and nothing is
        taken back."""
        committed = min(high_watermark, self.log.log_end_offset)
        if committed <= self.high_watermark:
            return False
        self.log.high_watermark = committed
        return True

    def truncate_to_leader(self, position: Position, leader: EpochEnd) -> None:
        """The leader's log parted from this one: cut away what it does not have."""
        with self.lock:
            if self._still_at(position):
                self.log.truncate_to(truncation_offset(self.log.epochs, self.log.log_end_offset, leader))

    def move_into_range(self, position: Position, leader_start: int, leader_end: int) -> bool:
        """The leader has nothing at `position`: its log ends before (after an unclean election), or begins
        later. Whether anything was cut for it."""
        with self.lock:
            if not self._still_at(position):
                return False
            if leader_end < self.log.log_end_offset:
                self.log.truncate_to(leader_end)
            elif leader_start > self.log.log_end_offset:
                self.log.truncate_to(leader_start, anew=True)
                self.log.high_watermark = leader_start
            else:
                return False
            return True

    def _still_at(self, position: Position) -> bool:
        return (
            not self.deleted
            and not self.leads
            and position.leader_epoch == self.leader_epoch
            and position.offset == self.log.log_end_offset
        )

    def _not_enough(self, leading: Leadership) -> KafkaError:
        needed = leading.effective_min_isr(self.log.settings.min_insync_replicas)
        return KafkaError(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            f"{len(leading.isr)} replicas of {self} are in sync, and min.insync.replicas wants {needed}.",
        )


class _Awaited:
    """A caller that waits for an acknowledgement."""

    def __init__(
        self, partition: Partition, end_offset: int, leader_epoch: int, tell: Callable[[ErrorCode], None]
    ) -> None:
        self._partition = partition
        self._asked = (end_offset, leader_epoch)
        self._tell = tell

    def wake(self) -> None:
        with self._partition.lock:
            code = self._partition.acknowledgement(*self._asked)
            if code is None:
                self._partition.watch(self)
        if code is not None:
            self._tell(code)
