"""The partition under a coordinator's shard, as the shard wants to see it: append a batch, hear of its
commitment, read everything back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import get_ident
from typing import Final

from penstock.coordinator.shard_log import Entry, Marker
from penstock.records.batch import NO_PRODUCER_ID, iter_headers
from penstock.records.control import read_marker
from penstock.records.record import decode_batch
from penstock.replication.markers import TransactionMarker
from penstock.replication.partition import Partition
from penstock.replication.waiters import Waiter
from penstock.storage.verification import Guard

_READ_BYTES: Final = 1 << 20


class PartitionShardLog:
    """Adapts `replication.partition:Partition` to `coordinator.shard_log:ShardLog`."""

    def __init__(self, partition: Partition, leader_epoch: int) -> None:
        self._partition = partition
        self._epoch = leader_epoch
        self._listener: Callable[[], None] | None = None
        self._appending: int | None = (
            None  # the thread that appends; it does not need to hear of its own write
        )
        self._to_wake: list[Waiter] = []

    def append(self, batch: memoryview, guard: Guard | None = None) -> int:
        self._appending = get_ident()
        try:
            return self._partition.append_internal(
                batch, guard=guard, epoch=self._epoch, to_wake=self._to_wake
            ).base_offset
        finally:
            self._appending = None

    def append_marker(self, marker: TransactionMarker) -> int:
        self._appending = get_ident()
        try:
            return self._partition.append_marker(marker, epoch=self._epoch, to_wake=self._to_wake).base_offset
        finally:
            self._appending = None

    def wake_waiters(self) -> None:
        waiters, self._to_wake[:] = self._to_wake[:], []
        for waiter in waiters:
            waiter.wake()

    @property
    def committed_offset(self) -> int:
        return self._partition.high_watermark

    @property
    def end_offset(self) -> int:
        return self._partition.log.log_end_offset

    @property
    def is_empty(self) -> bool:
        return self._partition.log.log_start_offset == self._partition.log.log_end_offset

    def on_commit(self, listener: Callable[[], None]) -> None:
        self._listener = listener
        self._partition.watch(self)

    def wake(self) -> None:
        """The partition has changed; a waiter is woken once, so it registers again."""
        if self._partition.deleted or self._partition.leader_epoch != self._epoch:
            return
        self._partition.watch(self)
        if self._listener is not None and self._appending != get_ident():
            self._listener()

    def read_all(self) -> Iterator[Entry | Marker]:
        offset = self._partition.log.log_start_offset
        while True:
            # A leader never takes back what it has, committed or not: the shard counts with all of it.
            records = self._partition.read_written(offset, _READ_BYTES)
            if records is None:
                return
            data = memoryview(records.read())
            for position, header in iter_headers(data):
                offset = header.next_offset
                if header.is_control:
                    marker = read_marker(data, position)
                    if marker is not None:
                        yield Marker(header.producer_id, marker.commit)
                else:
                    producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
                    yield from (Entry(record, producer_id) for record in decode_batch(data, position))
