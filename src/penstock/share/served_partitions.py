"""The share partitions that this broker serves: loaded when they are first asked for, dropped when another
leader, another state or nobody uses them.

`Serving` is what a request gets: the partition, or a promise to wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from threading import Lock
from typing import Final

from penstock.clock import Clock
from penstock.coordinator.promise import Promise, failed
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.replication.partition import Partition
from penstock.settings.offset_reset import EARLIEST
from penstock.share.served import ServedPartition
from penstock.share.settings import ShareSettings, first_place, reads_committed
from penstock.share.state import NO_OFFSET, PartitionState, SharePartitionKey
from penstock.share.states import States

IDLE_SECONDS: Final = 60.0
"""What nobody asked for in so long is read anew: its state may have been set by a tool meanwhile."""

MOST: Final = 10_000
"""Share partitions in memory."""


class ServedPartitions:
    """Threads may call it."""

    def __init__(
        self,
        settings: ShareSettings,
        clock: Clock,
        states: States,
        group_config: Callable[[str], Mapping[str, str]],
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._states = states
        self._group_config = group_config
        self._lock = Lock()
        self._served: dict[SharePartitionKey, Promise[ServedPartition]] = {}

    def __len__(self) -> int:
        return len(self._served)

    def get(self, key: SharePartitionKey, partition: Partition) -> Promise[ServedPartition]:
        """The partition for the group; KafkaError in the promise when its state cannot be read."""
        partition.check_leads()
        epoch, now = partition.leader_epoch, self._clock.monotonic()
        with self._lock:
            promise = self._served.get(key)
            if promise is not None and _is_usable(promise, epoch, now):
                if promise.done:
                    promise.result().used = now
                return promise
            if len(self._served) >= MOST:
                self._drop_idle(now)
            if len(self._served) >= MOST:
                return failed(
                    KafkaError(ErrorCode.SHARE_SESSION_LIMIT_REACHED, f"{MOST} share partitions are served.")
                )
            promise = self._served[key] = Promise()
        _Loading(self, key, partition, epoch, promise).begin()
        return promise

    def lock_ms(self, group_id: str) -> int:
        """How long a member of the group may keep a record."""
        return self.settings.lock_ms(self._group_config(group_id))

    def reads_committed(self, group_id: str) -> bool:
        return reads_committed(self._group_config(group_id))

    def present(self, key: SharePartitionKey) -> ServedPartition | None:
        """The partition if it is served already: records that a member holds are only there."""
        promise = self._served.get(key)
        return None if promise is None or not promise.done or promise.broken else promise.result()

    def forget_group(self, group_id: str) -> None:
        """No member of the group has a session here any more."""
        with self._lock:
            for key in [key for key in self._served if key.group_id == group_id]:
                del self._served[key]

    def _drop_idle(self, now: float) -> None:
        for key, promise in list(self._served.items()):
            if promise.done and (promise.broken or now - promise.result().used > IDLE_SECONDS):
                del self._served[key]

    # For `_Loading`

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Promise[PartitionState]:
        return self._states.read(key, leader_epoch)

    def write(self, key: SharePartitionKey, state: PartitionState) -> Promise[None]:
        return self._states.write(key, state)

    def made(self, key: SharePartitionKey, leader_epoch: int, state: PartitionState) -> ServedPartition:
        settings = self.settings
        made = ServedPartition(
            key, leader_epoch, state, self._states, settings.most_in_flight, settings.most_attempts
        )
        made.used = self._clock.monotonic()
        return made

    def first_offset(self, key: SharePartitionKey, partition: Partition) -> int:
        """Where the group begins to read a partition of which nothing is known."""
        reset = first_place(self._group_config(key.group_id))
        if isinstance(reset, timedelta):
            found = partition.log.offset_for_time(self._clock.now_ms() - int(reset.total_seconds() * 1000))
            return partition.high_watermark if found is None else min(found[1], partition.high_watermark)
        if reset == EARLIEST:
            return partition.log.log_start_offset
        partition.check_end_known()
        return partition.high_watermark


def _is_usable(promise: Promise[ServedPartition], leader_epoch: int, now: float) -> bool:
    if not promise.done:
        return True
    if promise.broken:
        return False
    served = promise.result()
    return not served.is_fenced and served.leader_epoch == leader_epoch and now - served.used <= IDLE_SECONDS


class _Loading:
    """Reads the state; where there is none, decides where the group begins, and writes that first: another
    leader must not begin elsewhere."""

    def __init__(
        self,
        served: ServedPartitions,
        key: SharePartitionKey,
        partition: Partition,
        leader_epoch: int,
        promise: Promise[ServedPartition],
    ) -> None:
        self._served = served
        self._key = key
        self._partition = partition
        self._leader_epoch = leader_epoch
        self._promise = promise
        self._read: Promise[PartitionState] | None = None
        self._written: Promise[None] | None = None
        self._state = PartitionState()

    def begin(self) -> None:
        self._read = self._served.read(self._key, self._leader_epoch)
        self._read.watch(self)

    def wake(self) -> None:
        try:
            self._go_on()
        except KafkaError as error:
            self._promise.fail(error)

    def _go_on(self) -> None:
        if self._written is None:
            assert self._read is not None
            self._state = self._read.result()
            if self._state.start_offset == NO_OFFSET:
                start = self._served.first_offset(self._key, self._partition)
                self._state = self._state._replace(start_offset=start)
                self._written = self._served.write(self._key, self._state)
                self._written.watch(self)
                return
        else:
            self._written.result()
        self._promise.complete(self._served.made(self._key, self._leader_epoch, self._state))
