"""A shard's log in memory: it commits at once, or when it is told to, and can be compacted."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.coordinator.shard_log import Entry, Marker
from penstock.protocol.errors import KafkaError
from penstock.records.batch import NO_PRODUCER_ID, read_header
from penstock.records.record import decode_batch
from penstock.replication.markers import TransactionMarker
from penstock.storage.verification import Guard


class MemoryLog:
    """Speaks `coordinator.shard_log:ShardLog`. What it holds went through bytes, as in a real log."""

    def __init__(self, *, commits_at_once: bool = True) -> None:
        self.items: list[tuple[int, Entry | Marker]] = []
        self.commits_at_once = commits_at_once
        self.refusal: KafkaError | None = None
        self.appends = 0
        self.size_bytes = 0
        self._end = 0
        self._committed = 0
        self._listener: Callable[[], None] = lambda: None

    def append(self, batch: memoryview, guard: Guard | None = None) -> int:
        if self.refusal is not None:
            raise self.refusal
        self.appends += 1
        self.size_bytes += len(batch)
        base = self._end
        header = read_header(batch)
        producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
        for record in decode_batch(batch):
            self.items.append((self._end, Entry(record._replace(offset=self._end), producer_id)))
            self._end += 1
        if self.commits_at_once:
            self._committed = self._end
        return base

    def append_marker(self, marker: TransactionMarker) -> int:
        if self.refusal is not None:
            raise self.refusal
        self.mark(Marker(marker.producer_id, marker.commit))
        return self._end - 1

    def wake_waiters(self) -> None:
        """Nobody else reads it."""

    @property
    def committed_offset(self) -> int:
        return self._committed

    @property
    def end_offset(self) -> int:
        return self._end

    @property
    def is_empty(self) -> bool:
        return not self.items

    def on_commit(self, listener: Callable[[], None]) -> None:
        self._listener = listener

    def commit(self) -> None:
        """Everything that was written is on all replicas."""
        self._committed = self._end
        self._listener()

    def mark(self, marker: Marker) -> None:
        """The end of a transaction, as its coordinator would write it."""
        self.items.append((self._end, marker))
        self._end += 1
        self._committed = self._end

    def read_all(self) -> Iterator[Entry | Marker]:
        return iter([item for _, item in self.items])

    def compact(self, *, drop_tombstones: bool = False) -> None:
        """Keep the last record of each key, as the cleaner does. Markers and what belongs to transactions
        stay."""
        last = {
            item.record.key: offset
            for offset, item in self.items
            if isinstance(item, Entry) and item.producer_id == NO_PRODUCER_ID
        }
        self.items = [
            (offset, item)
            for offset, item in self.items
            if isinstance(item, Marker)
            or item.producer_id != NO_PRODUCER_ID
            or (last[item.record.key] == offset and not (drop_tombstones and item.record.value is None))
        ]

    def keys(self) -> list[bytes | None]:
        return [item.record.key for _, item in self.items if isinstance(item, Entry)]
