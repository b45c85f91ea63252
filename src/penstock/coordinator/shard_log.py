"""The partition under a shard, as the shard sees it. Its real form stands in `server.following.shard_log`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from penstock.records.batch import NO_PRODUCER_ID
from penstock.records.record import Record
from penstock.replication.markers import TransactionMarker
from penstock.storage.verification import Guard


class Entry(NamedTuple):
    """A record as it is replayed. `record.offset` is its place in the log."""

    record: Record
    producer_id: int = NO_PRODUCER_ID
    """Of the transaction that wrote it; without one the record counts at once."""


class Marker(NamedTuple):
    """The end of a transaction: everything its producer wrote since the last one counts, or never will."""

    producer_id: int
    committed: bool


class ShardLog(Protocol):
    """Appends what a shard decided, and says later when it is committed."""

    def append(self, batch: memoryview, guard: Guard | None = None) -> int:
        """Write one batch and give the offset of its first record. KafkaError when it cannot be written.
        What is written for a transaction comes with its guard."""
        ...

    def append_marker(self, marker: TransactionMarker) -> int:
        """Write the end of a transaction and give its offset. KafkaError when it is refused."""
        ...

    def wake_waiters(self) -> None:
        """Wake the requests that wait for what was appended. The shard's lock is not held meanwhile."""
        ...

    @property
    def committed_offset(self) -> int:
        """Records below are committed: they survive this broker. With one replica that is all there is."""
        ...

    @property
    def end_offset(self) -> int:
        """Where the log ends: what `read_all` gave ends here, as long as nothing was appended."""
        ...

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to load."""
        ...

    def on_commit(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever `committed_offset` has moved on by something else than `append` itself."""
        ...

    def read_all(self) -> Iterator[Entry | Marker]:
        """Everything that is in the log, in its order."""
        ...
